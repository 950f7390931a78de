/** After a refusal the focus goes to the field at fault, which also brings it into view. */
import { type RefObject, useEffect, useRef } from 'react';

/** @returns to be put on the form */
export function useFocusOnError<T extends HTMLElement>(error: unknown): RefObject<T | null> {
  const form = useRef<T>(null);
  useEffect(() => {
    if (error) form.current?.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus();
  }, [error]);
  return form;
}
