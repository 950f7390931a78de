/** After a refusal the focus goes to the field at fault, which also brings it into view. */
import { type RefObject, useEffect, useRef } from 'react';

/** @returns to be put on the form */
export function useFocusOnError<T extends HTMLElement>(error: unknown): RefObject<T | null> {
  const form = useRef<T>(null);
  useEffect(() => {
    if (!error) return;
    const field = form.current?.querySelector<HTMLElement>('[aria-invalid="true"]');
    field?.focus();
    // With what is said below it.
    field?.closest('.mantine-InputWrapper-root')?.scrollIntoView({ block: 'nearest' });
  }, [error]);
  return form;
}
