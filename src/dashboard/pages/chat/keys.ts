/** What key presses in a message field mean. */
import { useMediaQuery } from '@mantine/hooks';
import type { KeyboardEvent as ReactKeyboardEvent } from 'react';

/** Whether an input method takes it. Safari ends a composition before the key press that confirms it, whose code is 229. */
export const isForInputMethod = ({ isComposing, keyCode }: KeyboardEvent): boolean =>
  isComposing || keyCode === 229;

/** Whether the keyboard is probably on the screen, where no other key begins a new line. */
export const useIsTouch = (): boolean =>
  useMediaQuery('(pointer: coarse)', undefined, { getInitialValueInEffect: false }) ?? false;

/** Ctrl+Enter sends everywhere, Enter alone only where another key begins a new line. */
export function useEnter() {
  const isTouch = useIsTouch();
  return {
    enterKeyHint: isTouch ? ('enter' as const) : ('send' as const),
    isSending: ({ ctrlKey, key, metaKey, nativeEvent, shiftKey }: ReactKeyboardEvent): boolean =>
      key === 'Enter' && !isForInputMethod(nativeEvent) && (ctrlKey || metaKey || !(shiftKey || isTouch)),
  };
}
