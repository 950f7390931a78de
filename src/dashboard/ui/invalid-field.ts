/** After an error, focuses the invalid field and scrolls its message into view. */
import { type RefObject, useEffect, useRef } from 'react';

export function useFocusOnError<T extends HTMLElement>(error: unknown): RefObject<T | null> {
  const form = useRef<T>(null);
  useEffect(() => {
    if (!error) return;
    const field = form.current?.querySelector<HTMLElement>('[aria-invalid="true"]');
    field?.closest('details')?.toggleAttribute('open', true);
    field?.focus();
    // Includes the message below the field. Without an invalid field, an alert shows the error.
    const shown =
      field?.closest('.mantine-InputWrapper-root') ?? form.current?.querySelector('[role="alert"]');
    shown?.scrollIntoView({ block: 'nearest' });
  }, [error]);
  return form;
}
