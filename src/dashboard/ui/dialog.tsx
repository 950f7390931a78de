/**
 * A dialog. It is there while it is rendered; focus goes back to where it was, or to the page's heading when that is
 * gone. On narrow screens it takes the whole screen.
 */
import { Modal, type ModalProps } from '@mantine/core';
import { useMediaQuery } from '@mantine/hooks';
import { useEffect } from 'react';

type Props = Omit<ModalProps, 'opened' | 'returnFocus'>;

export function Dialog({ children, ...rest }: Props) {
  const isNarrow = useMediaQuery('(max-width: 36em)', undefined, { getInitialValueInEffect: false });
  useReturnedFocus();
  return (
    <Modal
      opened
      returnFocus={false}
      centered={!isNarrow}
      fullScreen={isNarrow ?? false}
      transitionProps={{ duration: 0 }}
      overlayProps={{ backgroundOpacity: 0.5 }}
      {...rest}
    >
      {children}
    </Modal>
  );
}

function useReturnedFocus(): void {
  useEffect(() => {
    const before = document.activeElement;
    return () => {
      // After the dialog has left the page, and whatever it did has changed the page.
      setTimeout(() => {
        if (document.querySelector('[role="dialog"]')) return;
        const isThere = before instanceof HTMLElement && before !== document.body && before.isConnected;
        const target = isThere ? before : document.querySelector<HTMLElement>('h1');
        target?.focus({ preventScroll: true });
      }, 50);
    };
  }, []);
}
