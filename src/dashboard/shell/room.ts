/** Whether the sidebar has room for labels. Keep it in sync with layout.module.css. */
import { useMediaQuery } from '@mantine/hooks';

export const useHasRoom = (): boolean =>
  useMediaQuery('(min-width: 48.01em) and (min-height: 36em)', undefined, {
    getInitialValueInEffect: false,
  }) ?? false;
