/** What the daily quota says to a client. Contract section 5. */
import type { Meter } from '../../schemas/plans.ts';
import { ApiError } from '../errors.ts';

const DAY_MS = 86_400_000;

/** The next 00:00 UTC after an instant of the database's clock. */
export const nextReset = (readAt: Date): Date =>
  new Date((Math.floor(readAt.getTime() / DAY_MS) + 1) * DAY_MS);

/** What a counter said when it was read. */
export type QuotaReading = { meter: Meter; used: number; ceiling: number | null; readAt: Date };

/** Whole seconds until the counter starts again, rounded up. */
export const secondsToReset = (readAt: Date): number =>
  Math.ceil((nextReset(readAt).getTime() - readAt.getTime()) / 1000);

/** The `RateLimit` fields of a meter that has a ceiling; nothing for one that has none. */
export function quotaHeaders({ used, ceiling, readAt }: QuotaReading): Record<string, string> {
  if (ceiling === null) return {};
  return {
    'ratelimit-limit': String(ceiling),
    'ratelimit-remaining': String(Math.max(0, ceiling - used)),
    'ratelimit-reset': String(secondsToReset(readAt)),
  };
}

/** The refusal of a request that today's quota does not hold. */
export function quotaExceeded(reading: QuotaReading & { ceiling: number }): ApiError {
  const { meter, used, ceiling, readAt } = reading;
  const resetsAt = nextReset(readAt).toISOString();
  const left = Math.max(0, ceiling - used);
  return new ApiError('quotaExceeded', {
    message:
      left > 0
        ? `Today's ${meter} quota of ${ceiling} has ${left} left, which is less than this request asks for. It resets at ${resetsAt}.`
        : `Today's ${meter} quota of ${ceiling} is spent. It resets at ${resetsAt}.`,
    limit: { name: meter, ceiling, resetsAt },
    headers: {
      ...quotaHeaders(reading),
      'retry-after': String(secondsToReset(readAt)),
      // OpenAI's clients would otherwise sleep until midnight.
      'x-should-retry': 'false',
    },
  });
}
