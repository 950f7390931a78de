import { useEffect, useRef } from 'react';
import { useLocation } from 'wouter';
import { navigate } from 'wouter/use-browser-location';
import { setSession } from '../api/session.ts';

let navigations = 0;

/** Whether the user came from another page, so that the page must move the focus. */
export const wasNavigated = (): boolean => navigations > 0;

/** Counts navigations, without the first page. */
export function useNavigationCount(): void {
  const [location] = useLocation();
  const first = useRef(location);
  if (location !== first.current) {
    first.current = location;
    navigations += 1;
  }
  useEffect(() => {
    // A placeholder until the page sets its title.
    document.title = 'Parley';
  }, []);
}

export const signInPath = (page: '/sign-in' | '/sign-up', location: string): string =>
  location === '/' ? page : `${page}?next=${encodeURIComponent(location)}`;

/** Signs out at the user's request, so that the next sign-in does not return to this page. */
export function leave(status?: string): void {
  navigate('/sign-in', { state: status === undefined ? null : { status } });
  setSession('out');
}

/** The path to open after signing in. Never another site's URL. */
export function nextPath(search: string): string {
  const next = new URLSearchParams(search).get('next') ?? '/';
  if (!next.startsWith('/')) return '/';
  const url = new URL(next, location.origin);
  return url.origin === location.origin ? url.pathname + url.search : '/';
}
