/** A page whose code loads when the page is opened. */
import { type ComponentType, useEffect, useState } from 'react';
import { LoadingPage } from '../ui/loaded.tsx';
import { wasUpdated } from './build.ts';

type Load = () => Promise<{ default: ComponentType }>;

/** The code of a page could not be loaded. */
export class PageLoadError extends Error {
  /** Whether the service has been updated since this tab was opened, so that the file is gone. */
  readonly isOutdated: boolean;

  constructor(isOutdated: boolean, cause: unknown) {
    super('The code of this page could not be loaded.', { cause });
    this.name = 'PageLoadError';
    this.isOutdated = isOutdated;
  }
}

/**
 * Makes a component that loads a page once for each time it is mounted, until it succeeds.
 *
 * `React.lazy` does not fit: it keeps a failure for good, and replacing the lazy component while React retries it loads
 * without end.
 *
 * @param load - imports the module of the page
 * @returns a component that throws a `PageLoadError` to the nearest error boundary when loading fails
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
