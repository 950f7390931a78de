import { useQuery } from '@tanstack/react-query';
import { api, ok, type Schemas } from '../../api/client.ts';
import { untilNextDay, usageIsStale, useUsage } from '../../api/usage.ts';
import { t } from '../../texts/language.ts';
import type { Days } from './filters.ts';

/** The API's maximum. The log's filter offers keys of all these days. */
const MAX_DAYS = 90;

export type KeyLabel = Schemas['KeyLabel'];
export type DayUsage = Schemas['DayUsage'];

/** Loads all days at once, so that the chart can change the number of days without a request. */
export function useHistory() {
  // Renders when today's usage loads, and when the day ends.
  useUsage();
  return useQuery({
    queryKey: ['usage', 'history', MAX_DAYS],
    queryFn: ({ signal }) =>
      ok(api.GET('/api/v1/usage/history', { params: { query: { days: MAX_DAYS } }, signal })),
    ...usageIsStale,
    refetchInterval: untilNextDay,
  });
}

/** The rows of the last days, oldest first. */
export function lastDays(data: readonly DayUsage[], days: Days): DayUsage[] {
  const last = new Set([...new Set(data.map(({ day }) => day))].slice(-days));
  return data.filter(({ day }) => last.has(day));
}

const labelOf = ({ active, key_prefix, name }: KeyLabel): string =>
  active ? `${name} (${key_prefix}…)` : t('usage.keys.inactive', { name, prefix: key_prefix });

export function keyName(id: string | null, keys: readonly KeyLabel[]): string {
  if (id === null) return t('usage.keys.web');
  const key = keys.find((known) => known.id === id);
  return key ? key.name : t('usage.keys.unknown');
}

export const keyChoices = (keys: readonly KeyLabel[], chosen: string): { value: string; label: string }[] => {
  const known = [
    { value: '', label: t('usage.keys.all') },
    { value: 'web', label: t('usage.keys.web') },
    ...keys.map((key) => ({ value: key.id, label: labelOf(key) })),
  ];
  return known.some(({ value }) => value === chosen)
    ? known
    : [...known, { value: chosen, label: t('usage.keys.older') }];
};
