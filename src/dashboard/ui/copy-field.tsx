import classes from './code.module.css';
import { CopyButton } from './copy-button.tsx';

type Props = { value: string; label: string; isSmall?: boolean; onCopied?: () => void };

export function CopyField({ isSmall = false, label, onCopied, value }: Props) {
  return (
    <div className={classes.field} data-small={isSmall || undefined}>
      <code className={classes.value}>{value}</code>
      <CopyButton
        text={value}
        what={label}
        {...(isSmall && { size: 'xs', variant: 'default' })}
        {...(onCopied && { onCopied })}
      />
    </div>
  );
}
