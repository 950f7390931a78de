/**
 * What responses say about limits, to clients that read either family of headers: the three fields that most read
 * today, and the structured fields of the current draft (draft-ietf-httpapi-ratelimit-headers). Contract section 5.
 */

/** A limit as one request found it, that request included. */
export type LimitReading = {
  /** A meter, `requests`, or another limit: docs/guides/rate-limits.md lists them. */
  name: string;
  /** How much the window allows. */
  ceiling: number;
  /** Never negative. */
  remaining: number;
  windowSeconds: number;
  /** Until the window starts again, rounded up. */
  resetSeconds: number;
};

/** Every header that describes a limit. */
export const rateHeaderNames = [
  'ratelimit-limit',
  'ratelimit-remaining',
  'ratelimit-reset',
  'ratelimit-policy',
  'ratelimit',
] as const;

/** The limit that a client meets first: least remains of it; of several, the one that resets last. */
function tightest(limits: readonly [LimitReading, ...LimitReading[]]): LimitReading {
  const [first, ...others] = limits;
  return others.reduce((best, limit) => {
    const isTighter =
      limit.remaining < best.remaining ||
      (limit.remaining === best.remaining && limit.resetSeconds > best.resetSeconds);
    return isTighter ? limit : best;
  }, first);
}

/**
 * The headers for the limits that a request was measured against.
 *
 * @param limits - in the order in which they are listed
 */
export function rateHeaders(...limits: [LimitReading, ...LimitReading[]]): Record<string, string> {
  const { ceiling, remaining, resetSeconds } = tightest(limits);
  return {
    'ratelimit-limit': String(ceiling),
    'ratelimit-remaining': String(remaining),
    'ratelimit-reset': String(resetSeconds),
    'ratelimit-policy': limits
      .map((one) => `"${one.name}";q=${one.ceiling};w=${one.windowSeconds}`)
      .join(', '),
    ratelimit: limits.map((one) => `"${one.name}";r=${one.remaining};t=${one.resetSeconds}`).join(', '),
  };
}
