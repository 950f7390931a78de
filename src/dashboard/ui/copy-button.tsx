import { Button, type ButtonProps, VisuallyHidden } from '@mantine/core';
import { t } from '../texts/language.ts';
import { useCopy } from './copy.ts';
import { CheckIcon, CopyIcon } from './icons.tsx';

type Props = ButtonProps & {
  text: string;
  what?: string;
  label?: string;
  onCopied?: () => void;
};

export function CopyButton({ label = t('ui.copy.copy'), onCopied, text, what, ...rest }: Props) {
  const [outcome, copy] = useCopy();
  const shown = { none: label, copied: t('ui.copy.copied'), failed: t('ui.copy.failed') }[outcome];
  const status = { none: '', copied: t('ui.copy.copied'), failed: t('ui.copy.copyYourself') }[outcome];
  return (
    <>
      <Button
        leftSection={outcome === 'copied' ? <CheckIcon size={16} /> : <CopyIcon size={16} />}
        aria-label={what === undefined ? undefined : t(`ui.copy.${outcome}What`, { what })}
        onClick={async () => {
          if (await copy(text)) onCopied?.();
        }}
        {...rest}
      >
        {shown}
      </Button>
      <VisuallyHidden role="status">{status}</VisuallyHidden>
    </>
  );
}
