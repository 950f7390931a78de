/** The headers of limits, as parsers read them that others wrote. */
import { parseRateLimit } from 'ratelimit-header-parser';
import { parseList } from 'structured-headers';
import type { Answer } from './http.ts';

type Seconds = number;
export type LimitFields = {
  /** The family of three fields. */
  three: { limit: number; remaining: number; reset: Seconds };
  /** The newer, structured fields, by the limits' names. */
  policies: Record<string, { q: number; w: Seconds }>;
  limits: Record<string, { r: number; t: Seconds }>;
};

function items<T>(field: string): Record<string, T> {
  const list = parseList(field) as unknown as [string, Map<string, unknown>][];
  return Object.fromEntries(list.map(([name, parameters]) => [name, Object.fromEntries(parameters) as T]));
}

/** Both families of an answer, or undefined where it has no such header at all. */
export function limitFields({ headers }: Pick<Answer, 'headers'>): LimitFields | undefined {
  if (![...headers.keys()].some((name) => name.startsWith('ratelimit'))) return undefined;
  // This parser prefers `RateLimit` and knows it only as an older draft had it: it gets its family alone.
  const { ratelimit, ...older } = Object.fromEntries(headers);
  const three = parseRateLimit(older, { reset: 'seconds' });
  if (three?.reset === undefined) throw new Error('The three fields cannot be read.');
  return {
    three: {
      limit: three.limit,
      remaining: three.remaining,
      reset: Math.round((three.reset.getTime() - Date.now()) / 1000),
    },
    policies: items(headers.get('ratelimit-policy') ?? ''),
    limits: items(headers.get('ratelimit') ?? ''),
  };
}
