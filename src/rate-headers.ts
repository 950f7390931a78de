/** Three widely used fields, and the fields of draft-ietf-httpapi-ratelimit-headers. Contract section 5. */

/** The state of a limit after one request was counted. */
export type LimitReading = {
  /** A meter, `requests`, or another limit listed in docs/guides/rate-limits.md. */
  name: string;
  ceiling: number;
  /** Never negative. */
  remaining: number;
  windowSeconds: number;
  /** The time until the window resets, rounded up. */
  resetSeconds: number;
};

export const rateHeaderNames = [
  'ratelimit-limit',
  'ratelimit-remaining',
  'ratelimit-reset',
  'ratelimit-policy',
  'ratelimit',
] as const;

/** The limit with the least remaining. In a tie, the one that resets last. */
function tightest(limits: readonly [LimitReading, ...LimitReading[]]): LimitReading {
  const [first, ...others] = limits;
  return others.reduce((best, limit) => {
    const isTighter =
      limit.remaining < best.remaining ||
      (limit.remaining === best.remaining && limit.resetSeconds > best.resetSeconds);
    return isTighter ? limit : best;
  }, first);
}

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
