import { useCallback, useLayoutEffect, useRef } from 'react';

/** A callback that stays the same, so that memoized components do not render, and calls the latest one. */
export function useStable<A extends unknown[], R>(callback: (...args: A) => R): (...args: A) => R {
  const latest = useRef(callback);
  useLayoutEffect(() => {
    latest.current = callback;
  });
  return useCallback((...args: A) => latest.current(...args), []);
}
