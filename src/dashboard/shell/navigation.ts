/** Whether a page came after another one in this tab, and where signing in leads. */
import { useEffect, useRef } from 'react';
import { useLocation } from 'wouter';
import { navigate } from 'wouter/use-browser-location';
import { setSession } from '../api/session.ts';

let navigations = 0;

/** Whether the page that is shown was reached from another one: then focus has to follow. */
export const wasNavigated = (): boolean => navigations > 0;

/** Counts what happens after the first page is shown. */
export function useNavigationCount(): void {
  const [location] = useLocation();
  const first = useRef(location);
  if (location !== first.current) {
    first.current = location;
    navigations += 1;
  }
  useEffect(() => {
    // Set by the page's header; here for the time until that is loaded.
    document.title = 'Parley';
  }, []);
}

/** The address of the sign-in page that leads back to `location` afterwards. */
export const signInPath = (page: '/sign-in' | '/sign-up', location: string): string =>
  location === '/' ? page : `${page}?next=${encodeURIComponent(location)}`;

/**
 * Whoever leaves on purpose begins anew next time.
 *
 * @param said - what the sign-in page says has happened
 */
export function leave(said?: string): void {
  navigate('/sign-in', { state: said === undefined ? null : { said } });
  setSession('out');
}

/** Where to go after signing in: a path of this page, never an address of somebody else. */
export function nextPath(search: string): string {
  const next = new URLSearchParams(search).get('next') ?? '/';
  if (!next.startsWith('/')) return '/';
  const url = new URL(next, location.origin);
  return url.origin === location.origin ? url.pathname + url.search : '/';
}
