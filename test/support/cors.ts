/** The CORS headers of responses. */
import type { Answer, Client, Owner } from './http.ts';
import { meteredRequests } from './metered.ts';

/** An allowed origin, and one that is not allowed. */
export const PAGE = 'https://app.example.com';
export const FOREIGN = 'https://evil.example';
/** Request options with an `Origin` header. */
export const from = (origin: string) => ({ headers: { origin } });

/** The calls that pages of an allowed origin may make, with a valid body where one is needed. */
export const pageCalls: [method: string, path: string, body?: unknown][] = [
  ...meteredRequests('Hi').map(({ body, path }): [string, string, unknown] => ['POST', path, body]),
  ['GET', '/models'],
  ['GET', '/usage'],
];

/** Creates an account on the plan `large`, without quotas, and a key that allows the origin `PAGE`. */
export async function pageKey(client: Client): Promise<{ owner: Owner; id: string; key: string }> {
  const owner = await client.signUp();
  await client.put('/subscription', { plan: 'large', billing_period: 'monthly' }, { cookie: owner.cookie });
  return { owner, ...(await client.createKey(owner, { allowed_origins: [PAGE] })) };
}

/** All headers that a page of an allowed origin can read, as sent. Written by hand, to find a change in `src/`. */
const exposedNames = [
  'retry-after',
  'x-should-retry',
  'ratelimit-limit',
  'ratelimit-remaining',
  'ratelimit-reset',
  'ratelimit-policy',
  'ratelimit',
  'x-request-id',
  'request-id',
  'idempotency-replayed',
  'x-parley-ignored-fields',
  'x-parley-attempts',
  'www-authenticate',
].join(', ');

const names = (field: string | null) => (field ?? '').split(',').map((name) => name.trim().toLowerCase());

/** The CORS headers of a response. */
export const corsHeaders = ({ headers }: Pick<Answer, 'headers'>): Record<string, string> =>
  Object.fromEntries([...headers].filter(([name]) => name.startsWith('access-control-')));

/** Whether a response has `Vary: Origin`. */
export const variesByOrigin = ({ headers }: Pick<Answer, 'headers'>): boolean =>
  names(headers.get('vary')).includes('origin');

/** Why a page of `origin` cannot read a response in full; undefined if it can. */
export function unreadableBecause(answer: Pick<Answer, 'headers'>, origin: string): string | undefined {
  const {
    'access-control-allow-origin': allowed,
    'access-control-expose-headers': exposed,
    ...more
  } = corsHeaders(answer);
  if (allowed !== origin) return `it allows ${allowed}`;
  if (exposed !== exposedNames) return `it exposes ${exposed}`;
  if (Object.keys(more).length > 0) return `it has ${Object.keys(more)}`;
  return variesByOrigin(answer) ? undefined : 'it does not vary by origin';
}
