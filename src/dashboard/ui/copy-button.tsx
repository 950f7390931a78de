import { Button, type ButtonProps, VisuallyHidden } from '@mantine/core';
import { useCopy } from './copy.ts';
import { CheckIcon, CopyIcon } from './icons.tsx';

type Props = ButtonProps & {
  text: string;
  what?: string;
  label?: string;
  onCopied?: () => void;
};

const said = {
  none: '',
  copied: 'Copied',
  failed: 'Could not copy. Select the text and copy it manually.',
};

export function CopyButton({ label = 'Copy', onCopied, text, what, ...rest }: Props) {
  const [outcome, copy] = useCopy();
  const shown = { none: label, copied: 'Copied', failed: 'Could not copy' }[outcome];
  return (
    <>
      <Button
        leftSection={outcome === 'copied' ? <CheckIcon size={16} /> : <CopyIcon size={16} />}
        aria-label={what === undefined ? undefined : `${shown} ${what}`}
        onClick={async () => {
          if (await copy(text)) onCopied?.();
        }}
        {...rest}
      >
        {shown}
      </Button>
      <VisuallyHidden role="status">{said[outcome]}</VisuallyHidden>
    </>
  );
}
