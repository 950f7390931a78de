/**
 * Every error the service can answer with: one table, contract section 6. The error class, the envelope's
 * schema, the reference and each operation's documented responses are derived from it.
 */
import { Type } from '@sinclair/typebox';
import { Count, extensible, nullable, ref, stringEnum, Timestamp } from './common.ts';
import type { Scope } from './keys.ts';

/** `type` as OpenAI's clients read it. */
const errorTypes = [
  'invalid_request_error',
  'authentication_error',
  'permission_error',
  'not_found_error',
  'conflict_error',
  'rate_limit_error',
  'insufficient_quota',
  'server_error',
] as const;
type ErrorType = (typeof errorTypes)[number];

/** What one occurrence of an error says in headers. */
export type HeaderFacts = {
  /** For `Retry-After`; 1 where it is not given. */
  retryAfterSeconds?: number;
  /** The scope that the key lacks, for `WWW-Authenticate`. */
  neededScope?: Scope;
  /** The methods that the path supports, for `Allow`. */
  allowedMethods?: readonly string[];
  /** False where OpenAI's clients must not retry, although they would for this status. */
  shouldRetry?: false;
};

/** A value, or how to make it; undefined leaves the header out. */
type ErrorHeader = string | ((facts: HeaderFacts) => string | undefined);
type ErrorEntry = {
  status: number;
  type: ErrorType;
  message: string;
  headers?: Readonly<Record<string, ErrorHeader>>;
};

const retryAfter = { 'retry-after': ({ retryAfterSeconds = 1 }: HeaderFacts) => String(retryAfterSeconds) };
const invalidToken = { 'www-authenticate': 'Bearer error="invalid_token"' };
/** Failures that can stay charged. */
const retryUnlessCharged = {
  'x-should-retry': ({ shouldRetry }: HeaderFacts) => (shouldRetry === false ? 'false' : undefined),
};

/** code → status, type, the sentence that is sent where the thrower has no better one, and headers. */
export const errorTable = {
  invalidRequest: { status: 400, type: 'invalid_request_error', message: 'The request is not valid.' },
  apiKeyInQuery: {
    status: 400,
    type: 'invalid_request_error',
    message:
      'An API key must not be sent in the query string, where logs and histories keep it. Send it as `Authorization: Bearer <API_KEY>`, and revoke this key if it was a real one.',
  },
  missingCredentials: {
    status: 401,
    type: 'authentication_error',
    message: 'This endpoint needs an API key. Send it as `Authorization: Bearer <API_KEY>`.',
    headers: { 'www-authenticate': 'Bearer' },
  },
  invalidApiKey: {
    status: 401,
    type: 'authentication_error',
    message:
      'The API key is malformed or unknown. Check that it was copied whole, or create a new one in the dashboard.',
    headers: invalidToken,
  },
  apiKeyRevoked: {
    status: 401,
    type: 'authentication_error',
    message: 'This API key was revoked or replaced. Use a current key, or create a new one in the dashboard.',
    headers: invalidToken,
  },
  apiKeyExpired: {
    status: 401,
    type: 'authentication_error',
    message: 'This API key has expired. Create a new one in the dashboard.',
    headers: invalidToken,
  },
  sessionRequired: {
    status: 401,
    type: 'authentication_error',
    message: 'Sign in first: this endpoint takes the dashboard session cookie.',
  },
  invalidLogin: {
    status: 401,
    type: 'authentication_error',
    message: 'The e-mail address or the password is wrong.',
  },
  insufficientScope: {
    status: 403,
    type: 'permission_error',
    message: 'This API key does not have the scope that the endpoint needs. Create a key that has it.',
    headers: {
      'www-authenticate': ({ neededScope }: HeaderFacts) =>
        `Bearer error="insufficient_scope", scope="${neededScope}"`,
    },
  },
  originNotAllowed: {
    status: 403,
    type: 'permission_error',
    message:
      'This origin is not among the allowed origins of the API key. Add it in the dashboard under "Your API".',
  },
  listingNotAllowed: {
    status: 403,
    type: 'permission_error',
    message:
      'A key with allowed origins is public, so it cannot list conversations. Read one by its id, or list them with a key without allowed origins, or in the dashboard.',
  },
  bearerNotAccepted: {
    status: 403,
    type: 'permission_error',
    message: 'API keys are not accepted here: this endpoint is for the signed-in dashboard only.',
  },
  crossSiteRequest: {
    status: 403,
    type: 'permission_error',
    message: 'This request came from another site and was refused.',
  },
  signupsClosed: {
    status: 403,
    type: 'permission_error',
    message: 'Sign-ups are closed on this service. Ask its operator for an account.',
  },
  planNotSelfServe: {
    status: 403,
    type: 'permission_error',
    message: 'Plans are changed by the operator of this service. Ask them to change yours.',
  },
  notFound: { status: 404, type: 'not_found_error', message: 'There is nothing here by that name.' },
  methodNotAllowed: {
    status: 405,
    type: 'invalid_request_error',
    message: 'This path does not take that method; the `Allow` header lists those that it takes.',
    headers: { allow: ({ allowedMethods = [] }: HeaderFacts) => [...allowedMethods].sort().join(', ') },
  },
  emailTaken: {
    status: 409,
    type: 'conflict_error',
    message: 'There is an account with this e-mail address already. Sign in, or use another address.',
  },
  idempotencyInProgress: {
    status: 409,
    type: 'conflict_error',
    message:
      'A request with this `Idempotency-Key` is being answered already. Nothing was charged; send it again in a moment, with the same key and body.',
    headers: retryAfter,
  },
  payloadTooLarge: { status: 413, type: 'invalid_request_error', message: 'The request body is too large.' },
  unsupportedMediaType: {
    status: 415,
    type: 'invalid_request_error',
    message: 'Bodies are JSON. Send `Content-Type: application/json`.',
  },
  idempotencyMismatch: {
    status: 422,
    type: 'invalid_request_error',
    message:
      'This `Idempotency-Key` was used for another request within 24 hours. Nothing was charged; use a new key for new work, and the same body for a retry.',
  },
  apiKeyLimitReached: {
    status: 429,
    type: 'invalid_request_error',
    message: 'This account has 5 active keys already. Revoke one before creating another.',
  },
  quotaExceeded: {
    status: 429,
    type: 'insufficient_quota',
    message: "Today's quota is spent. It resets at 00:00 UTC.",
    // OpenAI's clients would otherwise sleep until midnight.
    headers: { ...retryAfter, 'x-should-retry': 'false' },
  },
  tooManyStreams: {
    status: 429,
    type: 'rate_limit_error',
    message:
      'This account has as many streams open as it may. Read one to its end or close it, then try again. Nothing was charged.',
    headers: retryAfter,
  },
  tooManyCalls: {
    status: 429,
    type: 'rate_limit_error',
    message:
      'This account has as many calls under way as it may. Wait for one to end, then try again. Nothing was charged.',
    headers: retryAfter,
  },
  rateLimitExceeded: {
    status: 429,
    type: 'rate_limit_error',
    message: 'Too many requests. Nothing was charged; wait as long as `Retry-After` says.',
    headers: retryAfter,
  },
  internalError: {
    status: 500,
    type: 'server_error',
    message: 'Something went wrong on our side. Try again; if it stays, give the operator the request id.',
    headers: retryUnlessCharged,
  },
  upstreamError: {
    status: 502,
    type: 'server_error',
    message: 'The model behind this service answered with an error. Nothing was charged; try again later.',
    headers: retryUnlessCharged,
  },
  serviceUnavailable: {
    status: 503,
    type: 'server_error',
    message: 'The service cannot answer right now. Nothing was charged; try again shortly.',
    headers: retryAfter,
  },
  overloaded: {
    status: 503,
    type: 'server_error',
    message: 'The service is busy right now. Nothing was charged; try again shortly.',
    headers: retryAfter,
  },
  upstreamTimeout: {
    status: 504,
    type: 'server_error',
    message: 'The model behind this service did not answer in time. Nothing was charged; try again later.',
    headers: retryUnlessCharged,
  },
} as const satisfies Record<string, ErrorEntry>;

export type ErrorCode = keyof typeof errorTable;

/** The headers that a code can answer with. */
export const headersOf = (code: ErrorCode): Readonly<Record<string, ErrorHeader>> =>
  (errorTable[code] as ErrorEntry).headers ?? {};

export const errorCodes = Object.keys(errorTable) as ErrorCode[];
export const ErrorCode = stringEnum(errorCodes, {
  $id: 'ErrorCode',
  ...extensible,
  description:
    'Stable; branch on this. New codes may be added: treat those that you do not know by their status.',
});

export const ErrorType = stringEnum(errorTypes, {
  $id: 'ErrorType',
  description: "The class of an error, as OpenAI's clients read it.",
});

export const ErrorDetail = Type.Object(
  {
    path: Type.String({
      maxLength: 1000,
      description: 'Where in the input: a JSON pointer, or a parameter name.',
      examples: ['/message'],
    }),
    message: Type.String({
      maxLength: 1000,
      description: 'What is wrong there.',
      examples: ['must be string'],
    }),
  },
  { $id: 'ErrorDetail', additionalProperties: false, description: 'One thing that validation found.' },
);

export const ExceededLimit = Type.Object(
  {
    name: Type.String({
      maxLength: 100,
      description: 'The meter or limit that refused.',
      examples: ['chat'],
    }),
    ceiling: Count('How much the limit allows in its window.', [50]),
    resetsAt: Timestamp('When the window ends.'),
  },
  { $id: 'ExceededLimit', additionalProperties: false, description: 'The limit that refused the request.' },
);

export const ErrorBody = Type.Object(
  {
    code: ref(ErrorCode),
    message: Type.String({
      maxLength: 2000,
      description: 'A sentence a person can act on.',
      examples: ['The request is not valid.'],
    }),
    type: ref(ErrorType),
    param: nullable(Type.String({ maxLength: 1000 }), {
      description: 'The parameter at fault, where there is one.',
      examples: ['message'],
    }),
    request_id: Type.String({
      maxLength: 36,
      description: 'Give it to the operator; also in `X-Request-Id`.',
      examples: ['01932f5e-7c1a-7b3e-9d2f-3a5b7c9d1e0f'],
    }),
    docs: Type.String({
      format: 'uri',
      maxLength: 2000,
      description: 'What this code means and what to do.',
      examples: ['http://localhost:3000/docs/errors/invalidRequest'],
    }),
    details: Type.Optional(
      Type.Array(ref(ErrorDetail), {
        maxItems: 100,
        description: 'Each fault that validation found.',
      }),
    ),
    limit: Type.Optional(ref(ExceededLimit)),
    reason: Type.Optional(
      Type.String({
        maxLength: 100,
        description: 'A finer code where the model refused the input.',
        examples: ['context_length_exceeded'],
      }),
    ),
    charged: Type.Optional(
      Type.Boolean({
        description: 'True where the request stays charged although it failed; left out otherwise.',
        examples: [true],
      }),
    ),
  },
  { $id: 'ErrorBody', additionalProperties: false, description: 'What went wrong.' },
);

export const ErrorResponse = Type.Object(
  { error: ref(ErrorBody) },
  { $id: 'ErrorResponse', additionalProperties: false, description: 'Every error has this shape.' },
);
