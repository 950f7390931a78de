import { useQuery } from '@tanstack/react-query';
import { api, ok, type Schemas } from '../../api/client.ts';
import { type Meter, meterNames, untilNextDay } from '../../api/usage.ts';

export const DAYS = 7;

/** What a key used on one UTC day. Meters without usage are left out. */
export type DayOfKey = { day: string; used: { meter: Meter; count: number }[]; total: number };
type UsageOfKeys = ReadonlyMap<string, readonly DayOfKey[]>;

function byKey({ data }: Schemas['UsageHistory']): UsageOfKeys {
  const days = [...new Set(data.map(({ day }) => day))];
  const keys = new Map<string, DayOfKey[]>();
  for (const { by_key: shares, day, meter: name } of data) {
    const meter = meterNames.find((known) => known === name);
    if (meter === undefined) continue;
    for (const { key_id: id, used: count } of shares) {
      if (id === null || count === 0) continue;
      const ofKey = keys.get(id) ?? days.map((one) => ({ day: one, used: [], total: 0 }));
      keys.set(id, ofKey);
      const found = ofKey.find((one) => one.day === day);
      if (found === undefined) continue;
      found.used.push({ meter, count });
      found.total += count;
    }
  }
  return keys;
}

/** The last days of each key that was used on one of them, from the oldest day to today. */
export const useUsageOfKeys = () =>
  useQuery({
    queryKey: ['usage', 'history', DAYS],
    queryFn: ({ signal }) =>
      ok(api.GET('/api/v1/usage/history', { params: { query: { days: DAYS } }, signal })),
    select: byKey,
    refetchInterval: untilNextDay,
  });
