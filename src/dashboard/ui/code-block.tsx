/** A code block. The copied text can differ from the visible text, for example if that hides a secret. */
import classes from './code.module.css';
import { CopyButton } from './copy-button.tsx';

type Props = {
  code: string;
  label: string;
  copied?: string;
  onCopied?: () => void;
};

export function CodeBlock({ code, copied = code, label, onCopied }: Props) {
  return (
    <div className={classes.block}>
      <div className={classes.copy}>
        <CopyButton text={copied} what={label} size="xs" variant="default" {...(onCopied && { onCopied })} />
      </div>
      <section className={classes.code} aria-label={label}>
        <pre>
          <code>{code}</code>
        </pre>
      </section>
    </div>
  );
}
