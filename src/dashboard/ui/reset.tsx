/** When the daily quota resets: at 00:00 UTC, so the local time is shown too. */

import { useEffect, useState } from 'react';
import { t } from '../texts/language.ts';
import { clockTime, isUtc } from './when.tsx';

const TICK_MS = 15_000;

export function useNow(): number {
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), TICK_MS);
    return () => clearInterval(timer);
  }, []);
  return now;
}

/** "6 h 12 min" or "4 min". At least 1 min. */
export function timeUntil(at: string, now: number): string {
  const minutes = Math.max(1, Math.ceil((Date.parse(at) - now) / 60_000));
  const hours = Math.floor(minutes / 60);
  return hours === 0
    ? t('ui.reset.minutes', { minutes })
    : t('ui.reset.hoursAndMinutes', { hours, minutes: minutes % 60 });
}

export const localReset = (at: string): string =>
  isUtc(at) ? t('ui.reset.utc') : t('ui.reset.yourTime', { time: clockTime(new Date(at)) });

export function Reset({ at }: { at: string }) {
  const now = useNow();
  return t.rich('ui.reset.usage', {
    localTime: localReset(at),
    left: timeUntil(at, now),
    time: (chunks) => <time dateTime={at}>{chunks}</time>,
  });
}
