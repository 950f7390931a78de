import { type ComponentType, useEffect, useState } from 'react';
import { LoadingPage } from '../ui/loaded.tsx';
import { wasUpdated } from './build.ts';

type Load = () => Promise<{ default: ComponentType }>;

export class PageLoadError extends Error {
  /** Whether the file is gone because the service was updated after this tab opened. */
  readonly isOutdated: boolean;

  constructor(isOutdated: boolean, cause: unknown) {
    super('This page could not be loaded.', { cause });
    this.name = 'PageLoadError';
    this.isOutdated = isOutdated;
  }
}

/**
 * Loads a page each time it is mounted, until loading succeeds. `React.lazy` caches a failure forever, and replacing
 * the lazy component while React retries it causes an endless loop.
 *
 * @returns a component that throws a `PageLoadError` to the nearest error boundary if loading fails
 */
export function loadedPage(load: Load): ComponentType {
  let Loaded: ComponentType | undefined;
  return function LoadedPage() {
    const [Page, setPage] = useState<ComponentType | undefined>(() => Loaded);
    const [error, setError] = useState<PageLoadError>();
    useEffect(() => {
      if (Loaded !== undefined) return;
      load().then(
        (module) => {
          Loaded = module.default;
          setPage(() => Loaded);
        },
        async (cause: unknown) => setError(new PageLoadError(await wasUpdated(), cause)),
      );
    }, []);
    if (error !== undefined) throw error;
    return Page === undefined ? <LoadingPage /> : <Page />;
  };
}
