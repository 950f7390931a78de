/** Documents the headers of each response, based on the route's config. */
import type { FastifyContextConfig } from 'fastify';
import { type ErrorCode, hasAttempts, headersOf } from '../../schemas/errors.ts';
import { modelTasks } from '../../schemas/models.ts';
import { exposedHeaders } from '../domain/exposed-headers.ts';
import { rateHeaderNames } from '../rate-headers.ts';

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

export const headers = {
  'X-Request-Id': {
    ...text('The request ID, for support.', '01932f62-4e1c-7f09-a0b1-c2d3e4f5a6b7', 36),
    required: true,
  },
  'Request-Id': {
    ...text("The same ID, where Anthropic's clients expect it.", '01932f62-4e1c-7f09-a0b1-c2d3e4f5a6b7', 36),
    required: true,
  },
  'Cache-Control': { ...text('Do not cache the response.', 'no-store'), required: true },
  'RateLimit-Limit': count(
    'The limit with the least remaining; on a 429, the exceeded limit. Sent only after the account is identified.',
    50,
  ),
  'RateLimit-Remaining': count('The amount remaining under that limit.', 12),
  'RateLimit-Reset': count('Seconds until that limit resets.', 35_231),
  'RateLimit-Policy': text(
    'The limits that apply to the request: `q` is the limit, `w` the window in seconds.',
    '"requests";q=20;w=60, "chat";q=50;w=86400',
  ),
  RateLimit: text(
    'The same limits: `r` is the amount remaining, `t` the seconds until the reset.',
    '"requests";r=19;t=42, "chat";r=12;t=35231',
  ),
  'Idempotency-Replayed': text(
    '`true` if this is the stored response to an earlier request with the same `Idempotency-Key`. This request was not charged.',
    'true',
  ),
  'Retry-After': count('Seconds to wait. Omitted if waiting does not help.', 42),
  'X-Should-Retry': text(
    "`false` if a quota is used up or the request remains charged. It keeps OpenAI's clients from retrying.",
    'false',
  ),
  'WWW-Authenticate': text(
    'The problem with the key, if one was required or sent (RFC 6750).',
    'Bearer error="invalid_token"',
  ),
  'Access-Control-Allow-Origin': text(
    'The origin of the calling page, if the key allows it.',
    'https://app.example.com',
  ),
  'Access-Control-Expose-Headers': text('The headers that the page can read.', exposedHeaders),
  Vary: text('The response depends on the calling origin.', 'Origin'),
  'Set-Cookie': text(
    'Sets or clears the session cookie.',
    'parley_session=2mZ8nV0c.5Uq1; Path=/; Expires=Sun, 20 Dec 2026 13:45:12 GMT; HttpOnly; SameSite=Strict',
    4096,
  ),
  Deprecation: {
    ...text('When the operation was deprecated (RFC 9745), in Unix seconds.', '@1795132800', 40),
    required: true,
  },
  Sunset: {
    ...text('The earliest removal date (RFC 8594).', 'Tue, 01 Jun 2027 00:00:00 GMT', 40),
    required: true,
  },
  Link: text('The replacement.', '</docs/guides/versioning>; rel="deprecation"; type="text/html"'),
  'X-Parley-Ignored-Fields': text(
    'Body fields that were not sent to the model because Parley does not know them.',
    'provider, metadata',
    500,
  ),
  'X-Parley-Attempts': text('How many upstreams were tried, if the operator configured several.', '1', 10),
  'Content-Disposition': text(
    'Asks browsers to save the response as a file.',
    'attachment; filename="parley-requests-to-2026-11-20.csv"',
    200,
  ),
  'X-Accel-Buffering': text('`no` for a stream, so that proxies do not buffer it.', 'no'),
} as const;

type HeaderName = keyof typeof headers;

const rateNames = (Object.keys(headers) as HeaderName[]).filter((name) =>
  rateHeaderNames.some((one) => one === name.toLowerCase()),
);
const corsNames: readonly HeaderName[] = [
  'Access-Control-Allow-Origin',
  'Access-Control-Expose-Headers',
  'Vary',
];

const references = (names: readonly HeaderName[]): Record<string, Reference> =>
  Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));

const baseNames = ({
  access = 'public',
  announcement,
  surface,
}: FastifyContextConfig): readonly HeaderName[] => [
  'X-Request-Id',
  ...(surface === 'anthropic' ? (['Request-Id'] as const) : []),
  'Cache-Control',
  ...(access === 'public' ? [] : rateNames),
  ...(access === 'caller' ? corsNames : []),
  ...(announcement === undefined ? [] : (['Deprecation', 'Sunset'] as const)),
  ...(announcement?.link === undefined ? [] : (['Link'] as const)),
];

/** Headers from the error table. `Allow` is missing, because no operation documents 405. */
const challengeAndPause: readonly HeaderName[] = ['WWW-Authenticate', 'Retry-After'];

/** Codes of failures that can remain charged. A metered operation stores them for retries. */
const stored: readonly ErrorCode[] = ['invalidRequest', 'upstreamError', 'upstreamTimeout'];

/** Only model tasks can have several upstreams. */
export const hasUpstreams = ({ meter }: FastifyContextConfig): boolean =>
  modelTasks.some((task) => task === meter);

export function errorHeaders(status: number, config: FastifyContextConfig, codes: readonly ErrorCode[]) {
  const { access = 'public' } = config;
  const named = new Set(codes.flatMap((code) => Object.keys(headersOf(code))));
  const has = (name: HeaderName) => named.has(name.toLowerCase());
  return references([
    ...baseNames(config),
    ...(status === 429 && access === 'public' ? rateNames : []),
    ...challengeAndPause.filter(has),
    ...(codes.some((code) => stored.includes(code)) ? (['Idempotency-Replayed'] as const) : []),
    ...(hasUpstreams(config) && codes.some(hasAttempts) ? (['X-Parley-Attempts'] as const) : []),
    ...(has('X-Should-Retry') ? (['X-Should-Retry'] as const) : []),
  ]);
}

export function successHeaders(config: FastifyContextConfig, isStreamed: boolean) {
  const { ignoresFields, isFile, meter, setsCookie } = config;
  return references([
    ...baseNames(config),
    ...(meter === undefined ? [] : (['Idempotency-Replayed'] as const)),
    ...(ignoresFields ? (['X-Parley-Ignored-Fields'] as const) : []),
    ...(hasUpstreams(config) ? (['X-Parley-Attempts'] as const) : []),
    ...(isFile ? (['Content-Disposition'] as const) : []),
    ...(isStreamed ? (['X-Accel-Buffering'] as const) : []),
    ...(setsCookie ? (['Set-Cookie'] as const) : []),
  ]);
}
