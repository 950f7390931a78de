/** A button that ignores presses while loading. A disabled button would lose the focus. */
import { Button, type ButtonProps, Loader } from '@mantine/core';
import type { ReactNode, Ref } from 'react';

type Props = Omit<ButtonProps, 'loading' | 'leftSection'> & {
  isBusy: boolean;
  icon?: ReactNode;
  onClick: () => void;
  ref?: Ref<HTMLButtonElement>;
};

export const BusyButton = ({ icon, isBusy, onClick, ...rest }: Props) => (
  <Button
    variant="default"
    leftSection={isBusy ? <Loader size={16} /> : icon}
    aria-busy={isBusy}
    aria-disabled={isBusy}
    onClick={() => isBusy || onClick()}
    {...rest}
  />
);
