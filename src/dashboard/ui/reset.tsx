/** The daily quota resets at 00:00 UTC, so the local time is shown too. */
import { useEffect, useState } from 'react';

const TICK_MS = 15_000;

export function useNow(): number {
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), TICK_MS);
    return () => clearInterval(timer);
  }, []);
  return now;
}

const clock = new Intl.DateTimeFormat('en', { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' });

/** "6 h 12 min", "4 min"; at least 1 min. */
export function timeUntil(at: string, now: number): string {
  const minutes = Math.max(1, Math.ceil((Date.parse(at) - now) / 60_000));
  const hours = Math.floor(minutes / 60);
  return hours === 0 ? `${minutes} min` : `${hours} h ${minutes % 60} min`;
}

export const localReset = (at: string): string => `${clock.format(new Date(at))} your time`;

export function Reset({ at }: { at: string }) {
  const now = useNow();
  return (
    <time dateTime={at}>
      at 00:00 UTC ({localReset(at)}), in {timeUntil(at, now)}
    </time>
  );
}
