/** Whether the screen is narrow, so that the filters of the request log are in a dialog. */
import { useMediaQuery } from '@mantine/hooks';

export const useIsNarrow = (): boolean =>
  useMediaQuery('(max-width: 63.99em)', undefined, { getInitialValueInEffect: false }) ?? false;
