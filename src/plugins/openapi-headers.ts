/** The headers of responses in `openapi.json`: which operations carry which follows from who may call them. */

type Operation = {
  security?: readonly object[];
  parameters?: readonly { in: string; name: string }[];
  responses?: Record<string, { headers?: Record<string, unknown> }>;
};
/** What this adds to; the rest of a document is passed on. */
type Document = { paths?: object | undefined; components?: object | undefined };

const header = (type: 'string' | 'integer', description: string, example: string | number) => ({
  description,
  schema: type === 'integer' ? { type, format: 'int64', minimum: 0 } : { type, maxLength: 1000 },
  example,
});

const headers = {
  'X-Request-Id': header(
    'string',
    'The id of the request; give it to the operator.',
    '01932f5e-7c1a-7b3e-9d2f-3a5b7c9d1e0f',
  ),
  'RateLimit-Limit': header(
    'integer',
    'The ceiling of the limit with the least remaining; at 429 of the one that refused. Once the account is known.',
    50,
  ),
  'RateLimit-Remaining': header('integer', 'What remains of it.', 12),
  'RateLimit-Reset': header('integer', 'Seconds until it starts again.', 35_231),
  'RateLimit-Policy': header(
    'string',
    'Each limit that the request was measured against: `q` its ceiling, `w` its window in seconds.',
    '"requests";q=20;w=60, "chat";q=50;w=86400',
  ),
  RateLimit: header(
    'string',
    'The same limits: `r` remaining, `t` seconds until the limit starts again.',
    '"requests";r=19;t=42, "chat";r=12;t=35231',
  ),
  'Idempotency-Replayed': header(
    'string',
    '`true` where this is the stored answer of an earlier request with the same `Idempotency-Key`; nothing was charged.',
    'true',
  ),
  'Retry-After': header('integer', 'Seconds to wait; not where waiting does not help.', 42),
} as const;

type HeaderName = keyof typeof headers;

const rateNames: readonly HeaderName[] = [
  'RateLimit-Limit',
  'RateLimit-Remaining',
  'RateLimit-Reset',
  'RateLimit-Policy',
  'RateLimit',
];

function headersOf(status: string, { parameters, security }: Operation): Record<string, unknown> {
  const isOfLimit = (security ?? []).length > 0 || status === '429';
  const isRetryable = parameters?.some(({ name }) => name === 'idempotency-key') ?? false;
  const names: HeaderName[] = [
    'X-Request-Id',
    ...(isOfLimit ? rateNames : []),
    ...(status === '200' && isRetryable ? (['Idempotency-Replayed'] as const) : []),
    ...((status === '409' && isRetryable) || status === '429' || status === '503'
      ? (['Retry-After'] as const)
      : []),
  ];
  return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));
}

/** Adds the headers to every response of a document. */
export function withHeaders<T extends Document>(document: T): T {
  const items = Object.values(document.paths ?? {}) as Record<string, Operation>[];
  for (const operation of items.flatMap((item) => Object.values(item))) {
    for (const [status, response] of Object.entries(operation.responses ?? {}))
      response.headers = { ...response.headers, ...headersOf(status, operation) };
  }
  return { ...document, components: { ...document.components, headers } };
}
