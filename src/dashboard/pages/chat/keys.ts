/** Interprets key presses in a message field. */
import { useMediaQuery } from '@mantine/hooks';
import type { KeyboardEvent as ReactKeyboardEvent } from 'react';

/** Whether an input method handles the key press. Safari ends a composition before its confirming key press (229). */
export const isForInputMethod = ({ isComposing, keyCode }: KeyboardEvent): boolean =>
  isComposing || keyCode === 229;

/** Whether the device probably has an on-screen keyboard, where only Enter can insert a line break. */
export const useIsTouch = (): boolean =>
  useMediaQuery('(pointer: coarse)', undefined, { getInitialValueInEffect: false }) ?? false;

/** Ctrl+Enter always sends. Enter alone sends only if another key can insert a line break. */
export function useEnter() {
  const isTouch = useIsTouch();
  return {
    enterKeyHint: isTouch ? ('enter' as const) : ('send' as const),
    isSending: ({ ctrlKey, key, metaKey, nativeEvent, shiftKey }: ReactKeyboardEvent): boolean =>
      key === 'Enter' && !isForInputMethod(nativeEvent) && (ctrlKey || metaKey || !(shiftKey || isTouch)),
  };
}
