/** The headers of responses in `openapi.json`: which responses carry which follows from who may call and what is said. */
import type { FastifyContextConfig } from 'fastify';
import { type ErrorCode, headersOf } from '../../schemas/errors.ts';

type Reference = { $ref: string };

const text = (description: string, example: string, maxLength = 1000) => ({
  description,
  schema: { type: 'string', maxLength },
  example,
});
const count = (description: string, example: number) => ({
  description,
  schema: { type: 'integer', format: 'int64', minimum: 0, maximum: Number.MAX_SAFE_INTEGER },
  example,
});

/** Every header that a response can be documented with. */
export const headers = {
  'X-Request-Id': {
    ...text('The id of the request; give it to the operator.', '01932f62-4e1c-7f09-a0b1-c2d3e4f5a6b7', 36),
    required: true,
  },
  'Cache-Control': { ...text('Nothing of it is to be kept.', 'no-store'), required: true },
  'RateLimit-Limit': count(
    'The ceiling of the limit with the least remaining; at 429 of the one that refused. Once the account is known.',
    50,
  ),
  'RateLimit-Remaining': count('What remains of it.', 12),
  'RateLimit-Reset': count('Seconds until it starts again.', 35_231),
  'RateLimit-Policy': text(
    'Each limit that the request was measured against: `q` its ceiling, `w` its window in seconds.',
    '"requests";q=20;w=60, "chat";q=50;w=86400',
  ),
  RateLimit: text(
    'The same limits: `r` remaining, `t` seconds until the limit starts again.',
    '"requests";r=19;t=42, "chat";r=12;t=35231',
  ),
  'Idempotency-Replayed': text(
    '`true` where this is the stored answer of an earlier request with the same `Idempotency-Key`; this one was not charged.',
    'true',
  ),
  'Retry-After': count('Seconds to wait; not where waiting does not help.', 42),
  'X-Should-Retry': text(
    "`false` where a quota is spent, or where the request stays charged: OpenAI's clients would otherwise send it again.",
    'false',
  ),
  'WWW-Authenticate': text(
    'What is wrong with the key, where one was needed or sent (RFC 6750).',
    'Bearer error="invalid_token"',
  ),
  'Access-Control-Allow-Origin': text(
    'The origin of the page that called, where the key allows it.',
    'https://app.example.com',
  ),
  'Access-Control-Expose-Headers': text(
    'The headers that this page may read.',
    'retry-after, x-should-retry, ratelimit-limit, ratelimit-remaining, ratelimit-reset, ratelimit-policy, ratelimit, x-request-id, idempotency-replayed, x-parley-ignored-fields, www-authenticate',
  ),
  Vary: text('Answers differ by the origin that calls.', 'Origin'),
  'Set-Cookie': text(
    'The session cookie, or its end.',
    'parley_session=2mZ8nV0c.5Uq1; Path=/; Expires=Sun, 20 Dec 2026 13:45:12 GMT; HttpOnly; SameSite=Strict',
    4096,
  ),
  Deprecation: {
    ...text('Since when the operation is to go (RFC 9745): seconds of Unix time.', '@1795132800', 40),
    required: true,
  },
  Sunset: {
    ...text('From when it may be gone (RFC 8594).', 'Tue, 01 Jun 2027 00:00:00 GMT', 40),
    required: true,
  },
  Link: text('What to use instead.', '</docs/guides/versioning>; rel="deprecation"; type="text/html"'),
  'X-Parley-Ignored-Fields': text(
    'Fields of the body that did not reach the model, because they are not among those that Parley knows.',
    'provider, metadata',
    500,
  ),
  'X-Accel-Buffering': text('`no` with a stream: proxies are to pass it on as it comes.', 'no'),
} as const;

type HeaderName = keyof typeof headers;

const rateNames: readonly HeaderName[] = [
  'RateLimit-Limit',
  'RateLimit-Remaining',
  'RateLimit-Reset',
  'RateLimit-Policy',
  'RateLimit',
];
const corsNames: readonly HeaderName[] = [
  'Access-Control-Allow-Origin',
  'Access-Control-Expose-Headers',
  'Vary',
];

const references = (names: readonly HeaderName[]): Record<string, Reference> =>
  Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));

/** What every response of an operation carries. */
const baseNames = ({ access = 'public', announcement }: FastifyContextConfig): readonly HeaderName[] => [
  'X-Request-Id',
  'Cache-Control',
  ...(access === 'public' ? [] : rateNames),
  ...(access === 'caller' ? corsNames : []),
  ...(announcement === undefined ? [] : (['Deprecation', 'Sunset'] as const)),
  ...(announcement?.link === undefined ? [] : (['Link'] as const)),
];

/** Of the error table; 405, which alone has `Allow`, is in no operation. */
const challengeAndPause: readonly HeaderName[] = ['WWW-Authenticate', 'Retry-After'];

/** Codes of failures that can stay charged: a metered operation stores those for retries. */
const stored: readonly ErrorCode[] = ['invalidRequest', 'upstreamError', 'upstreamTimeout'];

/**
 * @param config - of the route
 * @param codes - what the response can say
 */
export function errorHeaders(status: number, config: FastifyContextConfig, codes: readonly ErrorCode[]) {
  const { access = 'public' } = config;
  const named = new Set(codes.flatMap((code) => Object.keys(headersOf(code))));
  const has = (name: HeaderName) => named.has(name.toLowerCase());
  return references([
    ...baseNames(config),
    ...(status === 429 && access === 'public' ? rateNames : []),
    ...challengeAndPause.filter(has),
    ...(codes.some((code) => stored.includes(code)) ? (['Idempotency-Replayed'] as const) : []),
    ...(has('X-Should-Retry') ? (['X-Should-Retry'] as const) : []),
  ]);
}

/** The headers of a response that is no error. */
export function successHeaders(config: FastifyContextConfig, isStreamed: boolean) {
  const { ignoresFields, meter, setsCookie } = config;
  return references([
    ...baseNames(config),
    ...(meter === undefined ? [] : (['Idempotency-Replayed'] as const)),
    ...(ignoresFields ? (['X-Parley-Ignored-Fields'] as const) : []),
    ...(isStreamed ? (['X-Accel-Buffering'] as const) : []),
    ...(setsCookie ? (['Set-Cookie'] as const) : []),
  ]);
}
