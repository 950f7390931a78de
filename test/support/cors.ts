/** What an answer tells a browser about who may read it. */
import type { Answer, Client, Owner } from './http.ts';
import { meteredRequests } from './metered.ts';

/** The page that is allowed, and one that is not. */
export const PAGE = 'https://app.example.com';
export const FOREIGN = 'https://evil.example';
export const from = (origin: string) => ({ headers: { origin } });

/** Everything is asked for with a body that is right, where one is taken. */
export const pageCalls: [method: string, path: string, body?: unknown][] = [
  ...meteredRequests('Hi').map(({ body, path }): [string, string, unknown] => ['POST', path, body]),
  ['GET', '/models'],
  ['GET', '/usage'],
];

/** An account on the plan `large`, without ceilings, and a key for `PAGE`. */
export async function pageKey(client: Client): Promise<{ owner: Owner; id: string; key: string }> {
  const owner = await client.signUp();
  await client.put('/subscription', { plan: 'large', billing_period: 'monthly' }, { cookie: owner.cookie });
  return { owner, ...(await client.createKey(owner, { allowed_origins: [PAGE] })) };
}

/** What a page of an allowed origin must be able to read, beside the body. */
export const exposedNames = [
  'retry-after',
  'x-should-retry',
  'ratelimit',
  'ratelimit-limit',
  'ratelimit-policy',
  'ratelimit-remaining',
  'ratelimit-reset',
  'x-request-id',
  'request-id',
  'idempotency-replayed',
  'www-authenticate',
];

const names = (field: string | null) => (field ?? '').split(',').map((name) => name.trim().toLowerCase());

/** All CORS headers of an answer. */
export const corsHeaders = ({ headers }: Pick<Answer, 'headers'>): Record<string, string> =>
  Object.fromEntries([...headers].filter(([name]) => name.startsWith('access-control-')));

export const variesByOrigin = ({ headers }: Pick<Answer, 'headers'>): boolean =>
  names(headers.get('vary')).includes('origin');

/** What is wrong with an answer that a page of `origin` should be able to read; undefined for nothing. */
export function unreadableBecause(answer: Pick<Answer, 'headers'>, origin: string): string | undefined {
  const {
    'access-control-allow-origin': allowed,
    'access-control-expose-headers': exposed,
    ...more
  } = corsHeaders(answer);
  if (allowed !== origin) return `it allows ${allowed}`;
  const hidden = exposedNames.filter((name) => !names(exposed ?? null).includes(name));
  if (hidden.length > 0) return `it hides ${hidden}`;
  if (Object.keys(more).length > 0) return `it has ${Object.keys(more)}`;
  return variesByOrigin(answer) ? undefined : 'it does not vary by origin';
}
