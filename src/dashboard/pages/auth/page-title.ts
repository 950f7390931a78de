import { type RefObject, useEffect, useRef } from 'react';
import { wasNavigated } from '../../shell/navigation.ts';

/** @returns the ref for the heading, which gets the focus after a navigation */
export function usePageTitle(title: string): RefObject<HTMLHeadingElement | null> {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    document.title = `${title} · Parley`;
    if (wasNavigated() && document.activeElement === document.body) heading.current?.focus();
  }, [title]);
  return heading;
}
