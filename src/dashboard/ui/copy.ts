/** Copies to the clipboard, including over plain HTTP, where browsers have no clipboard API. */
import { useRef, useState } from 'react';

const SHOWN_MS = 2500;

export async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return copyBySelection(text);
  }
}

function copyBySelection(text: string): boolean {
  const before = document.activeElement;
  const field = document.createElement('textarea');
  field.value = text;
  // An open dialog traps the focus, so the field must be inside it.
  (document.querySelector('[role="dialog"]') ?? document.body).append(field);
  field.select();
  const hasWorked = document.execCommand('copy');
  field.remove();
  if (before instanceof HTMLElement) before.focus({ preventScroll: true });
  return hasWorked;
}

export type CopyOutcome = 'none' | 'copied' | 'failed';

export function useCopy(): [CopyOutcome, (text: string) => Promise<boolean>] {
  const [outcome, setOutcome] = useState<CopyOutcome>('none');
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  const copy = async (text: string) => {
    const hasWorked = await copyText(text);
    setOutcome(hasWorked ? 'copied' : 'failed');
    clearTimeout(timer.current);
    timer.current = setTimeout(() => setOutcome('none'), SHOWN_MS);
    return hasWorked;
  };
  return [outcome, copy];
}
