/**
 * A dialog. It is there while it is rendered; focus goes back to where it was, or to the page's heading when that is
 * gone. On narrow screens it takes the whole screen. What is behind it is out of reach.
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

/** Where the focus was before the first of the dialogs that follow each other. */
let origin: Element | null = null;

function useReturnedFocus(): void {
  useEffect(() => {
    const { activeElement } = document;
    const page = document.getElementById('root');
    page?.toggleAttribute('inert', true);
    if (activeElement !== document.body && !activeElement?.closest('[role="dialog"]')) origin = activeElement;
    return () => {
      // After the dialog has left the page, and whatever it did has changed the page.
      setTimeout(() => {
        if (document.querySelector('[role="dialog"]')) return;
        page?.toggleAttribute('inert', false);
        const isThere = origin instanceof HTMLElement && origin.isConnected;
        const target = isThere ? (origin as HTMLElement) : document.querySelector<HTMLElement>('h1');
        target?.focus({ preventScroll: true });
      }, 50);
    };
  }, []);
}
