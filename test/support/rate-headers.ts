/** Reads rate limit headers with third-party parsers. */
import { parseRateLimit } from 'ratelimit-header-parser';
import { parseList } from 'structured-headers';
import type { Answer } from './http.ts';

type Seconds = number;
export type LimitFields = {
  /** The three older headers. */
  three: { limit: number; remaining: number; reset: Seconds };
  /** The newer, structured headers, by the name of the limit. */
  policies: Record<string, { q: number; w: Seconds }>;
  limits: Record<string, { r: number; t: Seconds }>;
};

function items<T>(field: string): Record<string, T> {
  const list = parseList(field) as unknown as [string, Map<string, unknown>][];
  return Object.fromEntries(list.map(([name, parameters]) => [name, Object.fromEntries(parameters) as T]));
}

/** The rate limit headers of a response, or undefined if it has none. Throws if they are invalid. */
export function limitFields({ headers }: Pick<Answer, 'headers'>): LimitFields | undefined {
  if (![...headers.keys()].some((name) => name.startsWith('ratelimit'))) return undefined;
  // This parser prefers `RateLimit`, but knows only its format in an older draft, so pass just the older headers.
  const { ratelimit, ...older } = Object.fromEntries(headers);
  const three = parseRateLimit(older, { reset: 'seconds' });
  if (three?.reset === undefined) throw new Error('The three older headers are invalid.');
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
