/** Loads older entries. If the button is removed because there are no more, its focus moves to the list. */
import { type ComponentProps, type RefObject, useLayoutEffect, useRef } from 'react';
import { BusyButton } from './busy-button.tsx';

type Props = ComponentProps<typeof BusyButton> & { list: RefObject<HTMLElement | null> };

export function OlderButton({ list, ...rest }: Props) {
  const button = useRef<HTMLButtonElement>(null);
  useLayoutEffect(() => {
    const { current } = button;
    // The button is still in the page when this cleanup runs.
    return () => {
      if (document.activeElement === current) list.current?.focus({ preventScroll: true });
    };
  }, [list]);
  return <BusyButton ref={button} {...rest} />;
}
