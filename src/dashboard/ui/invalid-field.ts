/** After a refusal the focus goes to the field at fault, and what is said of it comes into view. */
import { type RefObject, useEffect, useRef } from 'react';

/** @returns to be put on the form */
export function useFocusOnError<T extends HTMLElement>(error: unknown): RefObject<T | null> {
  const form = useRef<T>(null);
  useEffect(() => {
    if (!error) return;
    const field = form.current?.querySelector<HTMLElement>('[aria-invalid="true"]');
    field?.closest('details')?.toggleAttribute('open', true);
    field?.focus();
    // With what is said below it; what belongs to no field is said in an alert.
    const said =
      field?.closest('.mantine-InputWrapper-root') ?? form.current?.querySelector('[role="alert"]');
    said?.scrollIntoView({ block: 'nearest' });
  }, [error]);
  return form;
}
