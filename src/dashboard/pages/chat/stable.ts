import { useCallback, useLayoutEffect, useRef } from 'react';

/** A stable callback that calls the latest version, so that memoized components do not render again. */
export function useStable<A extends unknown[], R>(callback: (...args: A) => R): (...args: A) => R {
  const latest = useRef(callback);
  useLayoutEffect(() => {
    latest.current = callback;
  });
  return useCallback((...args: A) => latest.current(...args), []);
}
