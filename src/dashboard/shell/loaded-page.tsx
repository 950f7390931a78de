/** A page that is loaded when it is opened. */
import { type ComponentType, lazy } from 'react';

type Load = () => Promise<{ default: ComponentType }>;

/** What could not be loaded, as without a network, is asked for again with the next try: React alone would keep the failure. */
export function loadedPage(load: Load): ComponentType {
  const renewed = () =>
    lazy(() =>
      load().catch((error: unknown) => {
        Latest = renewed();
        throw error;
      }),
    );
  let Latest = renewed();
  return () => <Latest />;
}
