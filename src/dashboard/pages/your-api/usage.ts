import { useQuery } from '@tanstack/react-query';
import { api, ok, type Schemas } from '../../api/client.ts';
import { type Meter, meterNames, untilNextDay, usageIsStale, useUsage } from '../../api/usage.ts';

export const DAYS = 7;

/** A key's requests on one UTC day, and the units that they used. Omits meters without usage. */
export type DayOfKey = {
  day: string;
  /** Null if an earlier version of the service did not count all of them. */
  requests: number | null;
  used: { meter: Meter; count: number }[];
};
/** The last days of a key, from the oldest day to today. */
type DaysOfKey = (id: string) => readonly DayOfKey[];

function byKey({ data }: Schemas['UsageHistory']): DaysOfKey {
  const days = [...new Set(data.map(({ day }) => day))];
  const unused = () => days.map((day): DayOfKey => ({ day, requests: 0, used: [] }));
  const keys = new Map<string, DayOfKey[]>();
  for (const { by_key: shares, day, meter: name } of data) {
    const meter = meterNames.find((known) => known === name);
    if (meter === undefined) continue;
    for (const { key_id: id, requests, used: count } of shares) {
      if (id === null || count === 0) continue;
      const ofKey = keys.get(id) ?? unused();
      keys.set(id, ofKey);
      const found = ofKey.find((one) => one.day === day);
      if (found === undefined) continue;
      found.used.push({ meter, count });
      found.requests = found.requests === null || requests === undefined ? null : found.requests + requests;
    }
  }
  return (id) => keys.get(id) ?? unused();
}

export function useUsageOfKeys() {
  // Renders when today's usage loads, and when the day ends.
  useUsage();
  return useQuery({
    queryKey: ['usage', 'history', DAYS],
    queryFn: ({ signal }) =>
      ok(api.GET('/api/v1/usage/history', { params: { query: { days: DAYS } }, signal })),
    select: byKey,
    ...usageIsStale,
    refetchInterval: untilNextDay,
  });
}
