/** Every error that the service can return, in one table. Code and documentation derive from it: contract section 6. */
import { Type } from '@sinclair/typebox';
import { Count, extensible, nullable, ref, stringEnum, Timestamp } from './common.ts';
import { MAX_ACTIVE_KEYS } from './key-limits.ts';
import type { Scope } from './keys.ts';

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

export type HeaderFacts = {
  /** For `Retry-After`. Defaults to 1. */
  retryAfterSeconds?: number;
  /** The missing scope, for `WWW-Authenticate`. */
  neededScope?: Scope;
  /** The supported methods, for `Allow`. */
  allowedMethods?: readonly string[];
  /** False to keep OpenAI's clients from retrying a status that they usually retry. */
  shouldRetry?: false;
  /** True if waiting does not help. */
  isLasting?: true;
};

type ErrorHeader = string | ((facts: HeaderFacts) => string | undefined);
type ErrorEntry = {
  status: number;
  type: ErrorType;
  message: string;
  headers?: Readonly<Record<string, ErrorHeader>>;
};

const retryAfter = { 'retry-after': ({ retryAfterSeconds = 1 }: HeaderFacts) => String(retryAfterSeconds) };
const invalidToken = { 'www-authenticate': 'Bearer error="invalid_token"' };
/** The header of errors for requests that may remain charged. */
const retryUnlessCharged = {
  'x-should-retry': ({ shouldRetry }: HeaderFacts) => (shouldRetry === false ? 'false' : undefined),
};

export const errorTable = {
  invalidRequest: { status: 400, type: 'invalid_request_error', message: 'The request is not valid.' },
  apiKeyInQuery: {
    status: 400,
    type: 'invalid_request_error',
    message:
      'Do not send API keys in the query string, because logs and browser history record it. Send `Authorization: Bearer <API_KEY>` instead. If this key is real, revoke it.',
  },
  missingCredentials: {
    status: 401,
    type: 'authentication_error',
    message: 'This endpoint requires an API key. Send it as `Authorization: Bearer <API_KEY>`.',
    headers: { 'www-authenticate': 'Bearer' },
  },
  invalidApiKey: {
    status: 401,
    type: 'authentication_error',
    message:
      'The API key is malformed or unknown. Check that you copied all of it, or create a new one in the dashboard.',
    headers: invalidToken,
  },
  apiKeyRevoked: {
    status: 401,
    type: 'authentication_error',
    message:
      'This API key has been revoked or replaced. Use an active key, or create a new one in the dashboard.',
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
    message: 'This endpoint requires a dashboard session. Sign in first.',
  },
  invalidLogin: {
    status: 401,
    type: 'authentication_error',
    message: 'The email address or password is incorrect.',
  },
  insufficientScope: {
    status: 403,
    type: 'permission_error',
    message: 'This API key does not have the scope that this endpoint requires. Create a key that has it.',
    headers: {
      'www-authenticate': ({ neededScope }: HeaderFacts) =>
        `Bearer error="insufficient_scope", scope="${neededScope}"`,
    },
  },
  originNotAllowed: {
    status: 403,
    type: 'permission_error',
    message: 'The API key does not allow this origin. Add it in the dashboard under "Your API".',
  },
  listingNotAllowed: {
    status: 403,
    type: 'permission_error',
    message:
      'Keys with allowed origins are public and cannot list conversations. Read a conversation by its ID, or list conversations in the dashboard or with a key without allowed origins.',
  },
  bearerNotAccepted: {
    status: 403,
    type: 'permission_error',
    message: 'This endpoint does not accept API keys. Sign in to the dashboard to use it.',
  },
  crossSiteRequest: {
    status: 403,
    type: 'permission_error',
    message: 'This request came from another site. Open the dashboard at its own address and try again.',
  },
  signupsClosed: {
    status: 403,
    type: 'permission_error',
    message: 'Sign-ups are closed on this service. Ask its operator for an account.',
  },
  planNotSelfServe: {
    status: 403,
    type: 'permission_error',
    message: 'Only the operator of this service can change plans. Ask them to change yours.',
  },
  operatorRequired: {
    status: 403,
    type: 'permission_error',
    message: 'Only operators of this service can use this endpoint. The `OPERATORS` setting lists them.',
  },
  modelNotInPlan: {
    status: 403,
    type: 'permission_error',
    message:
      "The account's plan does not include this model. `GET /api/v1/models` lists the models that it includes.",
  },
  notFound: { status: 404, type: 'not_found_error', message: 'The requested resource was not found.' },
  methodNotAllowed: {
    status: 405,
    type: 'invalid_request_error',
    message: 'This path does not support this method. The `Allow` header lists the supported methods.',
    headers: { allow: ({ allowedMethods = [] }: HeaderFacts) => [...allowedMethods].sort().join(', ') },
  },
  emailTaken: {
    status: 409,
    type: 'conflict_error',
    message:
      'An account with this email address already exists. Use a different address, or sign in if the account is yours.',
  },
  idempotencyInProgress: {
    status: 409,
    type: 'conflict_error',
    message:
      'A request with this `Idempotency-Key` is still in progress. This one was not charged. Retry in a moment with the same key and body.',
    headers: retryAfter,
  },
  alreadyFinished: {
    status: 409,
    type: 'conflict_error',
    message: 'The request has already finished, so there is nothing to stop.',
  },
  payloadTooLarge: { status: 413, type: 'invalid_request_error', message: 'The request body is too large.' },
  unsupportedMediaType: {
    status: 415,
    type: 'invalid_request_error',
    message: 'The request body must be JSON. Send `Content-Type: application/json`.',
  },
  idempotencyMismatch: {
    status: 422,
    type: 'invalid_request_error',
    message:
      'This `Idempotency-Key` was used for a different request in the last 24 hours. Nothing was charged. Use a new key for a new request, or the original body for a retry.',
  },
  apiKeyLimitReached: {
    status: 429,
    type: 'invalid_request_error',
    message: `This account already has ${MAX_ACTIVE_KEYS} active keys. Revoke one before you create another.`,
  },
  quotaExceeded: {
    status: 429,
    type: 'insufficient_quota',
    message: "Today's quota is used up. It resets at 00:00 UTC.",
    // `x-should-retry` keeps OpenAI's clients from sleeping until midnight.
    headers: {
      'retry-after': ({ isLasting, retryAfterSeconds = 1 }) =>
        isLasting ? undefined : String(retryAfterSeconds),
      'x-should-retry': 'false',
    },
  },
  tooManyStreams: {
    status: 429,
    type: 'rate_limit_error',
    message:
      'This account has reached its limit on open streams. Nothing was charged. Finish or close a stream, then try again.',
    headers: retryAfter,
  },
  tooManyCalls: {
    status: 429,
    type: 'rate_limit_error',
    message:
      'This account has reached its limit on concurrent calls. Nothing was charged. Wait for a call to finish, then try again.',
    headers: retryAfter,
  },
  rateLimitExceeded: {
    status: 429,
    type: 'rate_limit_error',
    message: 'Too many requests. Nothing was charged. Wait for the time in `Retry-After`, then try again.',
    headers: retryAfter,
  },
  internalError: {
    status: 500,
    type: 'server_error',
    message:
      'Something went wrong on our side. Try again. If the problem persists, send the request ID to the operator.',
    headers: retryUnlessCharged,
  },
  upstreamError: {
    status: 502,
    type: 'server_error',
    message:
      'The server behind this endpoint failed or could not be reached. Nothing was charged. Try again later.',
    headers: retryUnlessCharged,
  },
  serviceUnavailable: {
    status: 503,
    type: 'server_error',
    message: 'The service is temporarily unavailable. Nothing was charged. Try again shortly.',
    headers: retryAfter,
  },
  overloaded: {
    status: 503,
    type: 'server_error',
    message: 'The service is overloaded. Nothing was charged. Try again shortly.',
    headers: retryAfter,
  },
  upstreamTimeout: {
    status: 504,
    type: 'server_error',
    message: 'The server behind this endpoint did not respond in time. Nothing was charged. Try again later.',
    headers: retryUnlessCharged,
  },
} as const satisfies Record<string, ErrorEntry>;

/** Whether responses with this error have `X-Parley-Attempts`. */
export const hasAttempts = (code: ErrorCode): boolean =>
  code === 'upstreamError' || code === 'upstreamTimeout';

export type ErrorCode = keyof typeof errorTable;

export const headersOf = (code: ErrorCode): Readonly<Record<string, ErrorHeader>> =>
  (errorTable[code] as ErrorEntry).headers ?? {};

export const errorCodes = Object.keys(errorTable) as ErrorCode[];
export const ErrorCode = stringEnum(errorCodes, {
  $id: 'ErrorCode',
  ...extensible,
  description: 'A stable code to branch on. New codes may be added. Handle unknown codes by their status.',
});

export const ErrorType = stringEnum(errorTypes, {
  $id: 'ErrorType',
  description: "The error class, as OpenAI's clients expect it.",
});

export const ErrorDetail = Type.Object(
  {
    path: Type.String({
      maxLength: 1000,
      description: 'The location in the input: a JSON pointer or a parameter name.',
      examples: ['/message'],
    }),
    message: Type.String({
      maxLength: 1000,
      description: 'The problem at this location.',
      examples: ['must be a string'],
    }),
  },
  { $id: 'ErrorDetail', additionalProperties: false, description: 'A validation error.' },
);

export const ExceededLimit = Type.Object(
  {
    name: Type.String({
      maxLength: 100,
      description: 'The meter or limit that was exceeded.',
      examples: ['chat'],
    }),
    ceiling: Count('The maximum within the window.', [50]),
    resetsAt: Timestamp('When the window ends.'),
    remaining: Type.Optional(
      Count(
        'The tokens left today, excluding those reserved by requests in progress. Only if the limit is `tokens`.',
        [1200],
      ),
    ),
    needed: Type.Optional(
      Count(
        'The maximum number of tokens that the request can use, and therefore reserves. Only if the limit is `tokens`.',
        [4800],
      ),
    ),
  },
  { $id: 'ExceededLimit', additionalProperties: false, description: 'The limit that the request exceeded.' },
);

export const ErrorBody = Type.Object(
  {
    code: ref(ErrorCode),
    message: Type.String({
      maxLength: 2000,
      description: 'A human-readable explanation of the error and how to fix it.',
      examples: ['The request is not valid.'],
    }),
    type: ref(ErrorType),
    param: nullable(Type.String({ maxLength: 1000 }), {
      description: 'The parameter that caused the error, if any.',
      examples: ['message'],
    }),
    request_id: Type.String({
      maxLength: 36,
      description: 'The request ID, for support. Also in `X-Request-Id`.',
      examples: ['01932f5e-7c1a-7b3e-9d2f-3a5b7c9d1e0f'],
    }),
    docs: Type.String({
      format: 'uri',
      maxLength: 2000,
      description: 'A page that explains this error and how to fix it.',
      examples: ['http://localhost:3000/docs/errors/invalidRequest'],
    }),
    details: Type.Optional(
      Type.Array(ref(ErrorDetail), {
        maxItems: 100,
        description: 'All validation errors.',
      }),
    ),
    limit: Type.Optional(ref(ExceededLimit)),
    reason: Type.Optional(
      Type.String({
        maxLength: 100,
        description:
          'A more specific code, if there is one: for example, why the model rejected the input, or which rule a password breaks. New values may be added.',
        examples: ['context_length_exceeded'],
      }),
    ),
    charged: Type.Optional(
      Type.Boolean({
        description: 'True if the failed request remains charged; omitted otherwise.',
        examples: [true],
      }),
    ),
  },
  { $id: 'ErrorBody', additionalProperties: false, description: 'The error.' },
);

export const ErrorResponse = Type.Object(
  { error: ref(ErrorBody) },
  { $id: 'ErrorResponse', additionalProperties: false, description: 'Every error has this shape.' },
);
