/** Code to read and to copy. What is copied may be more than is shown, as with a secret. */
import classes from './code.module.css';
import { CopyButton } from './copy-button.tsx';

type Props = {
  code: string;
  /** What it is, for screen readers: "curl example". */
  label: string;
  /** What is copied, when not what is shown. */
  copied?: string;
  onCopied?: () => void;
};

export function CodeBlock({ code, copied = code, label, onCopied }: Props) {
  return (
    <div className={classes.block}>
      <div className={classes.copy}>
        <CopyButton
          text={copied}
          what={`the ${label}`}
          size="xs"
          variant="default"
          {...(onCopied && { onCopied })}
        />
      </div>
      <section className={classes.code} aria-label={label}>
        <pre>
          <code>{code}</code>
        </pre>
      </section>
    </div>
  );
}
