/** Copies with one press and says so, also to screen readers. */
import { Button, type ButtonProps, VisuallyHidden } from '@mantine/core';
import { useCopy } from './copy.ts';
import { CheckIcon, CopyIcon } from './icons.tsx';

type Props = ButtonProps & {
  text: string;
  /** What is copied, where several things can be: "the key". */
  what?: string;
  label?: string;
  onCopied?: () => void;
};

const said = { none: '', copied: 'Copied', failed: 'Copying did not work: select the text instead.' };

export function CopyButton({ label = 'Copy', onCopied, text, what, ...rest }: Props) {
  const [outcome, copy] = useCopy();
  return (
    <>
      <Button
        leftSection={outcome === 'copied' ? <CheckIcon size={16} /> : <CopyIcon size={16} />}
        aria-label={what === undefined ? undefined : `${label} ${what}`}
        onClick={async () => {
          if (await copy(text)) onCopied?.();
        }}
        {...rest}
      >
        {outcome === 'none' ? label : outcome === 'copied' ? 'Copied' : 'Not copied'}
      </Button>
      <VisuallyHidden role="status">{said[outcome]}</VisuallyHidden>
    </>
  );
}
