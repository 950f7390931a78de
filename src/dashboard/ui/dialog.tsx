/**
 * A dialog. It is there while it is rendered; focus goes back to where it was, or to the page's heading when that is
 * gone or off. On narrow screens it takes the whole screen. What is behind it is out of reach.
 */
import { Modal, type ModalProps } from '@mantine/core';
import { useMediaQuery } from '@mantine/hooks';
import { useEffect, useId } from 'react';
import { focusHeading } from './focus.ts';

type Props = Omit<ModalProps, 'opened' | 'returnFocus'>;

export function Dialog({ children, onClose, ...rest }: Props) {
  const isNarrow = useMediaQuery('(max-width: 36em)', undefined, { getInitialValueInEffect: false });
  const isTopmost = useIsTopmost();
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
      // Esc is heard by every dialog that is open.
      onClose={() => isTopmost() && onClose()}
    >
      {children}
    </Modal>
  );
}

/** The dialogs that are open, the topmost last. */
const stack: string[] = [];

function useIsTopmost(): () => boolean {
  const id = useId();
  useEffect(() => {
    stack.push(id);
    return () => {
      // Not before the key that closed it has been heard by those below.
      setTimeout(() => stack.splice(stack.lastIndexOf(id), 1));
    };
  }, [id]);
  return () => stack.at(-1) === id;
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
        const below = document.querySelector<HTMLElement>('[role="dialog"]');
        if (below) {
          if (document.activeElement !== document.body) return;
          if (!below.contains(activeElement) || !focusAgain(activeElement)) below.focus();
          return;
        }
        page?.toggleAttribute('inert', false);
        if (!focusAgain(origin)) focusHeading();
      }, 50);
    };
  }, []);
}

/** @returns whether it could be: what is gone or off cannot */
function focusAgain(element: Element | null): boolean {
  if (!(element instanceof HTMLElement) || !element.isConnected || element.matches(':disabled')) return false;
  element.focus({ preventScroll: true });
  return true;
}
