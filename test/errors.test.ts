// Every error sets the headers from the table in contract sections 5 and 6.
import t from 'tap';
import { type ErrorCode, errorCodes } from '../schemas/errors.ts';
import { ApiError, type ErrorOptions } from '../src/errors.ts';

const invalidToken = { 'www-authenticate': 'Bearer error="invalid_token"' };
const retryAfter = { 'retry-after': '1' };

/** The headers of each code without options. Codes that are not listed have none. */
const standard: Partial<Record<ErrorCode, Record<string, string>>> = {
  missingCredentials: { 'www-authenticate': 'Bearer' },
  invalidApiKey: invalidToken,
  apiKeyRevoked: invalidToken,
  apiKeyExpired: invalidToken,
  methodNotAllowed: { allow: '' },
  idempotencyInProgress: retryAfter,
  tooManyStreams: retryAfter,
  tooManyCalls: retryAfter,
  rateLimitExceeded: retryAfter,
  quotaExceeded: { ...retryAfter, 'x-should-retry': 'false' },
  serviceUnavailable: retryAfter,
  overloaded: retryAfter,
};

for (const code of errorCodes) {
  if (code === 'insufficientScope') continue;
  t.test(`${code}: ${Object.keys(standard[code] ?? {}).join(', ') || 'no header'}`, async (t) => {
    t.same(new ApiError(code).headers, standard[code] ?? {});
  });
}

const exceeded = { name: 'chat', ceiling: 50, remaining: 0, windowSeconds: 86_400, resetSeconds: 42 };
const occurrences: [ErrorCode, ErrorOptions, Record<string, string>][] = [
  [
    'insufficientScope',
    { neededScope: 'images' },
    { 'www-authenticate': 'Bearer error="insufficient_scope", scope="images"' },
  ],
  ['methodNotAllowed', { allowedMethods: ['POST', 'GET'] }, { allow: 'GET, POST' }],
  ['overloaded', { retryAfterSeconds: 7 }, { 'retry-after': '7' }],
  ['upstreamError', { shouldRetry: false, charged: true }, { 'x-should-retry': 'false' }],
  ['invalidRequest', { shouldRetry: false, retryAfterSeconds: 7 }, {}],
  [
    'rateLimitExceeded',
    { exceeded },
    {
      'retry-after': '42',
      'ratelimit-limit': '50',
      'ratelimit-remaining': '0',
      'ratelimit-reset': '42',
      'ratelimit-policy': '"chat";q=50;w=86400',
      ratelimit: '"chat";r=0;t=42',
    },
  ],
];
for (const [code, options, headers] of occurrences)
  t.test(
    `${code} with ${Object.keys(options).join(' and ')}: ${Object.keys(headers).join(', ') || 'no header'}`,
    async (t) => {
      t.same(new ApiError(code, options).headers, headers);
    },
  );
