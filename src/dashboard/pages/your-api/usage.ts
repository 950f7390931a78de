import { useQuery } from '@tanstack/react-query';
import { api, ok, type Schemas } from '../../api/client.ts';
import { type Meter, meterNames, untilNextDay } from '../../api/usage.ts';

export const DAYS = 7;

/** The units that a key used on one UTC day. Meters without usage are left out. */
export type DayOfKey = { day: string; used: { meter: Meter; count: number }[]; total: number };
/** The last days of a key, from the oldest day to today. */
type DaysOfKey = (id: string) => readonly DayOfKey[];

function byKey({ data }: Schemas['UsageHistory']): DaysOfKey {
  const days = [...new Set(data.map(({ day }) => day))];
  const unused = () => days.map((day): DayOfKey => ({ day, used: [], total: 0 }));
  const keys = new Map<string, DayOfKey[]>();
  for (const { by_key: shares, day, meter: name } of data) {
    const meter = meterNames.find((known) => known === name);
    if (meter === undefined) continue;
    for (const { key_id: id, used: count } of shares) {
      if (id === null || count === 0) continue;
      const ofKey = keys.get(id) ?? unused();
      keys.set(id, ofKey);
      const found = ofKey.find((one) => one.day === day);
      if (found === undefined) continue;
      found.used.push({ meter, count });
      found.total += count;
    }
  }
  return (id) => keys.get(id) ?? unused();
}

export const useUsageOfKeys = () =>
  useQuery({
    queryKey: ['usage', 'history', DAYS],
    queryFn: ({ signal }) =>
      ok(api.GET('/api/v1/usage/history', { params: { query: { days: DAYS } }, signal })),
    select: byKey,
    refetchInterval: untilNextDay,
  });
