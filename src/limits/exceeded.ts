import { ApiError } from '../errors.ts';
import type { LimitReading } from '../rate-headers.ts';

const windowNames: Readonly<Record<number, string>> = { 60: 'minute', 3600: 'hour', 86400: 'day' };

const inSeconds = (count: number) => `${count} ${count === 1 ? 'second' : 'seconds'}`;

/** Rounds up: after that time, the limit has reset. */
function duration(seconds: number): string {
  if (seconds < 120) return inSeconds(seconds);
  return seconds < 7200 ? `${Math.ceil(seconds / 60)} minutes` : `${Math.ceil(seconds / 3600)} hours`;
}

const inWords = (seconds: number) => windowNames[seconds] ?? inSeconds(seconds);

/** The error for exceeding a rate limit. `what` is the plural of the counted items, such as `requests`. Contract section 5. */
export function rateLimitExceeded(limit: LimitReading, what: string, nowMs = Date.now()): ApiError {
  const { ceiling, name, resetSeconds, windowSeconds } = limit;
  const items = ceiling === 1 ? what.replace(/s$/, '') : what;
  return new ApiError('rateLimitExceeded', {
    message: `The limit of ${ceiling} ${items} per ${inWords(windowSeconds)} has been reached. Try again in ${duration(resetSeconds)}.`,
    limit: { name, ceiling, resetsAt: new Date(nowMs + resetSeconds * 1000).toISOString() },
    exceeded: limit,
  });
}
