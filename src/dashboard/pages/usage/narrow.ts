/** Whether the filters of the request log are in a dialog. Keep it in sync with usage.module.css. */
import { useMediaQuery } from '@mantine/hooks';

export const useIsNarrow = (): boolean =>
  useMediaQuery('(max-width: 47.99em)', undefined, { getInitialValueInEffect: false }) ?? false;
