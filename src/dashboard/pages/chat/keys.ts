/** What key presses in a message field mean. */
import type { KeyboardEvent as ReactKeyboardEvent } from 'react';

/** Whether an input method takes it. Safari ends a composition before the key press that confirms it, whose code is 229. */
export const isForInputMethod = ({ isComposing, keyCode }: KeyboardEvent): boolean =>
  isComposing || keyCode === 229;

/** Enter, but not that which ends a word in an input method. */
export const isSending = ({ key, nativeEvent, shiftKey }: ReactKeyboardEvent): boolean =>
  key === 'Enter' && !shiftKey && !isForInputMethod(nativeEvent);
