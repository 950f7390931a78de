/** What an answer tells a browser about who may read it. */
import type { Answer } from './http.ts';

/** What a page of an allowed origin must be able to read, beside the body. */
export const exposedNames = [
  'retry-after',
  'ratelimit',
  'ratelimit-limit',
  'ratelimit-policy',
  'ratelimit-remaining',
  'ratelimit-reset',
  'x-request-id',
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
