/** Whether the tools at the side have room for words; as in layout.module.css. */
import { useMediaQuery } from '@mantine/hooks';

export const useHasRoom = (): boolean =>
  useMediaQuery('(min-width: 48.01em) and (min-height: 36em)', undefined, {
    getInitialValueInEffect: false,
  }) ?? false;
