/** Links to the log of one key. A link to the current URL works again. */
import { Anchor } from '@mantine/core';
import { Link } from 'wouter';
import { useHistoryState } from 'wouter/use-browser-location';
import { t } from '../../texts/language.ts';
import { type Days, noFilters, pathOf } from './filters.ts';

/** The browser copies the state for each navigation, so `history.state` is a new object each time. */
const state = { isLogLink: true };

type Props = { keyId: string; days?: Days; label?: string };

export const LogLink = ({ days, keyId, label }: Props) => (
  <Link href={`${pathOf({ ...noFilters, key_id: keyId }, '/usage', days)}#log`} state={state} asChild>
    <Anchor size="sm" underline="always" aria-label={label}>
      {t('usage.log.title')}
    </Anchor>
  </Link>
);

/** A new object after each navigation with a `LogLink`. Null after other navigations. */
export const useLogLink = (): object | null => {
  const current = useHistoryState<Partial<typeof state> | null>();
  return current?.isLogLink === true ? current : null;
};
