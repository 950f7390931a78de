/** The daily quota as clients see it. Contract section 5. */
import type { Meter } from '../../schemas/plans.ts';
import { ApiError } from '../errors.ts';
import type { LimitReading } from '../rate-headers.ts';

const DAY_MS = 86_400_000;

/** The next 00:00 UTC after a time of the database's clock. */
export const nextReset = (readAt: Date): Date =>
  new Date((Math.floor(readAt.getTime() / DAY_MS) + 1) * DAY_MS);

export type QuotaReading = { meter: Meter | 'tokens'; used: number; ceiling: number | null; readAt: Date };

export const secondsToReset = (readAt: Date): number =>
  Math.ceil((nextReset(readAt).getTime() - readAt.getTime()) / 1000);

/** The state of the quota. `remaining` is never negative, although a lowered ceiling may be below `used`. */
export const quotaLimit = ({
  ceiling,
  meter,
  readAt,
  used,
}: QuotaReading & { ceiling: number }): LimitReading => ({
  name: meter,
  ceiling,
  remaining: Math.max(0, ceiling - used),
  windowSeconds: DAY_MS / 1000,
  resetSeconds: secondsToReset(readAt),
});

/** The error for a meter that the plan does not include. It has no `Retry-After`, because waiting does not help. */
const notIncluded = ({ meter, readAt }: QuotaReading): ApiError =>
  new ApiError('quotaExceeded', {
    message: `The account's plan does not include ${meter}. Change to a plan that does; \`GET /api/v1/plans\` lists the plans.`,
    limit: { name: meter, ceiling: 0, resetsAt: nextReset(readAt).toISOString() },
    isLasting: true,
  });

/** @param units - what the request costs */
export function quotaExceeded(reading: QuotaReading & { ceiling: number }, units: number): ApiError {
  const { meter, ceiling, readAt } = reading;
  if (ceiling === 0) return notIncluded(reading);
  const resetsAt = nextReset(readAt).toISOString();
  const limit = quotaLimit(reading);
  const left = limit.remaining;
  const isTooLarge = units > ceiling;
  const cost = `This request costs ${units} ${units === 1 ? 'unit' : 'units'}, but`;
  const rest = `only ${left} of today's ${meter} quota of ${ceiling} ${left === 1 ? 'is' : 'are'} left`;
  const state = left === 0 ? `Today's ${meter} quota of ${ceiling} is used up.` : `${cost} ${rest}.`;
  return new ApiError('quotaExceeded', {
    message: isTooLarge
      ? `${cost} the account's plan allows only ${ceiling} a day. Send a smaller request, choose a model that costs less, or change to a larger plan.`
      : `${state} The quota resets at ${resetsAt}.`,
    // Waiting for the next day does not help.
    ...(isTooLarge && { isLasting: true }),
    limit: { name: meter, ceiling, resetsAt },
    exceeded: limit,
  });
}

const count = (number: number): string => number.toLocaleString('en');

/**
 * The error for a request that can use more tokens than the quota has left at admission.
 *
 * @param reading - includes the tokens that other requests have reserved
 */
export function tokensExceeded(reading: QuotaReading & { ceiling: number }, needed: number): ApiError {
  const { ceiling, meter: name, readAt } = reading;
  const resetsAt = nextReset(readAt).toISOString();
  const { remaining, ...limit } = quotaLimit(reading);
  const isTooLarge = needed > ceiling;
  const asks = `This request can use up to ${count(needed)} tokens, including its input and maximum output.`;
  const left = isTooLarge
    ? `The account's plan allows ${count(ceiling)} tokens a day.`
    : `You have ${count(remaining)} of today's ${count(ceiling)} tokens left. The quota resets at ${resetsAt}.`;
  return new ApiError('quotaExceeded', {
    message: `${asks} ${left} Allow fewer output tokens, or shorten the input.`,
    limit: { name, ceiling, resetsAt, remaining, needed },
    exceeded: { ...limit, remaining },
    // Waiting for the next day does not help.
    ...(isTooLarge && { isLasting: true }),
  });
}
