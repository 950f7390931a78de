/** Pages for whoever is not signed in: told by their title, and read from their heading after another page. */
import { type RefObject, useEffect, useRef } from 'react';
import { wasNavigated } from '../../shell/navigation.ts';

/** @returns to be put on the heading, which takes the focus that fell out of the page before */
export function usePageTitle(title: string): RefObject<HTMLHeadingElement | null> {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    document.title = `${title} · Parley`;
    if (wasNavigated() && document.activeElement === document.body) heading.current?.focus();
  }, [title]);
  return heading;
}
