/**
 * A modal dialog, open while it is rendered. When it closes, the focus returns to the previous element, or to the
 * page's heading if that element is gone or disabled. On phones, the dialog is a bottom sheet.
 */
import { Modal, type ModalProps } from '@mantine/core';
import { useEffect, useId } from 'react';
import classes from './dialog.module.css';
import { focusHeading } from './focus.ts';

type Props = Omit<ModalProps, 'opened' | 'returnFocus'>;

export function Dialog({ children, onClose, ...rest }: Props) {
  const isTopmost = useIsTopmost();
  useReturnedFocus();
  return (
    <Modal
      opened
      returnFocus={false}
      centered
      classNames={{ inner: classes.inner ?? '', content: classes.content ?? '' }}
      transitionProps={{ duration: 0 }}
      overlayProps={{ backgroundOpacity: 0.5 }}
      {...rest}
      // Every open dialog receives Esc.
      onClose={() => isTopmost() && onClose()}
    >
      {children}
    </Modal>
  );
}

const stack: string[] = [];

/** Whether a dialog is open. Still true for the key press that closes the last dialog. */
export const isDialogOpen = (): boolean => stack.length > 0;

function useIsTopmost(): () => boolean {
  const id = useId();
  useEffect(() => {
    stack.push(id);
    return () => {
      // Wait until the dialogs below have received the key that closed this one.
      setTimeout(() => stack.splice(stack.lastIndexOf(id), 1));
    };
  }, [id]);
  return () => stack.at(-1) === id;
}

/** The focused element before the first of consecutive dialogs. */
let origin: Element | null = null;

function useReturnedFocus(): void {
  useEffect(() => {
    const { activeElement } = document;
    const page = document.getElementById('root');
    page?.toggleAttribute('inert', true);
    if (activeElement !== document.body && !activeElement?.closest('[role="dialog"]')) origin = activeElement;
    return () => {
      // Wait until the dialog is removed and the page has updated.
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

function focusAgain(element: Element | null): boolean {
  if (!(element instanceof HTMLElement) || !element.isConnected || element.matches(':disabled')) return false;
  element.focus({ preventScroll: true });
  return true;
}
