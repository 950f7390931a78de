import classes from './code.module.css';
import { CopyButton } from './copy-button.tsx';

type Props = { value: string; label: string; onCopied?: () => void };

export function CopyField({ label, onCopied, value }: Props) {
  return (
    <div className={classes.field}>
      <code className={classes.value}>{value}</code>
      <CopyButton text={value} what={label} {...(onCopied && { onCopied })} />
    </div>
  );
}
