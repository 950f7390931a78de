/** Errors in Anthropic's envelope: contract sections 6 and 14. */
import { type Static, type TSchema, Type } from '@sinclair/typebox';
import { extensible, ref, stringConst, stringEnum } from './common.ts';
import { type ErrorSetName, errorSets } from './error-sets.ts';
import { ErrorBody, type ErrorCode, ErrorDetail, errorTable } from './errors.ts';

const types = [
  'invalid_request_error',
  'authentication_error',
  'permission_error',
  'not_found_error',
  'request_too_large',
  'rate_limit_error',
  'timeout_error',
  'overloaded_error',
  'api_error',
] as const;
type MessagesErrorType = (typeof types)[number];

/** Anthropic's type for each code. Anthropic's clients branch on the type or the status. */
export const messagesErrorTypes = {
  invalidRequest: 'invalid_request_error',
  apiKeyInQuery: 'invalid_request_error',
  missingCredentials: 'authentication_error',
  invalidApiKey: 'authentication_error',
  apiKeyRevoked: 'authentication_error',
  apiKeyExpired: 'authentication_error',
  sessionRequired: 'authentication_error',
  invalidLogin: 'authentication_error',
  insufficientScope: 'permission_error',
  originNotAllowed: 'permission_error',
  listingNotAllowed: 'permission_error',
  bearerNotAccepted: 'permission_error',
  crossSiteRequest: 'permission_error',
  signupsClosed: 'permission_error',
  planNotSelfServe: 'permission_error',
  operatorRequired: 'permission_error',
  modelNotInPlan: 'permission_error',
  notFound: 'not_found_error',
  methodNotAllowed: 'invalid_request_error',
  emailTaken: 'invalid_request_error',
  alreadyFinished: 'invalid_request_error',
  idempotencyInProgress: 'invalid_request_error',
  payloadTooLarge: 'request_too_large',
  unsupportedMediaType: 'invalid_request_error',
  idempotencyMismatch: 'invalid_request_error',
  apiKeyLimitReached: 'invalid_request_error',
  quotaExceeded: 'rate_limit_error',
  tooManyStreams: 'rate_limit_error',
  tooManyCalls: 'rate_limit_error',
  rateLimitExceeded: 'rate_limit_error',
  internalError: 'api_error',
  upstreamError: 'api_error',
  serviceUnavailable: 'api_error',
  overloaded: 'overloaded_error',
  upstreamTimeout: 'timeout_error',
} as const satisfies Record<ErrorCode, MessagesErrorType>;

export const MessagesErrorType = stringEnum(types, {
  $id: 'MessagesErrorType',
  ...extensible,
  description: "The error class, as Anthropic's clients expect it.",
});

const { code, details, docs, limit, message, charged, reason, request_id: requestId } = ErrorBody.properties;

export const MessagesUnsupported = Type.Object(
  {
    error_code: Type.String({
      maxLength: 100,
      description: "Tells Anthropic's SDKs to retry the request without the feature.",
      examples: ['thread_unsupported_request'],
    }),
    unsupported: Type.Array(Type.String({ maxLength: 100, examples: ['thread'] }), {
      maxItems: 10,
      description: 'The features of the request that this service does not support.',
    }),
  },
  { $id: 'MessagesUnsupported', additionalProperties: false, description: 'Why a feature was refused.' },
);

const members = {
  type: ref(MessagesErrorType),
  message,
  code,
  param: Type.Optional(
    Type.String({
      maxLength: 1000,
      description: 'The parameter that caused the error, if any.',
      examples: ['messages.0.content'],
    }),
  ),
  docs,
  details: Type.Optional(
    Type.Unsafe<Static<typeof details> | Static<typeof MessagesUnsupported>>({
      anyOf: [Type.Array(ref(ErrorDetail), { maxItems: 100 }), ref(MessagesUnsupported)],
      description: 'All validation errors; an object if the request has a `thread`.',
    }),
  ),
  limit,
  reason,
  charged,
};

export const MessagesErrorObject = Type.Object(members, {
  $id: 'MessagesErrorObject',
  additionalProperties: false,
  description: 'The error.',
});

const envelopeOf = <T extends TSchema>(error: T, $id: string, description: string) =>
  Type.Object(
    {
      type: stringConst('error', { description: 'Always `error`.' }),
      error: ref(error),
      request_id: requestId,
    },
    { $id, additionalProperties: false, description },
  );

/** Only for its type: each status has a separate component. */
const _MessagesError = envelopeOf(MessagesErrorObject, 'MessagesError', '');
export type MessagesError = Static<typeof _MessagesError>;

/** The sets of errors that operations of the Messages API return. */
const returned = [
  'BadRequestError',
  'CallerUnauthorizedError',
  'ModelForbiddenError',
  'NotFoundError',
  'RetryConflictError',
  'PayloadTooLargeError',
  'UnsupportedMediaTypeError',
  'RetryMismatchError',
  'RateLimitError',
  'StreamQuotaError',
  'InternalError',
  'UpstreamError',
  'BusyError',
  'UpstreamTimeoutError',
] as const satisfies readonly ErrorSetName[];

export const messagesSetName = (set: ErrorSetName): string => `Messages${set}`;

/** Two components per set, as for other operations: the envelope, and the error in it. */
export const messagesErrorSchemas: TSchema[] = returned.flatMap((set) => {
  const codes: readonly ErrorCode[] = errorSets[set];
  const name = messagesSetName(set);
  const listed = `Status ${errorTable[codes[0] as ErrorCode].status}: ${codes.map((one) => `\`${one}\``).join(', ')}.`;
  const error = Type.Object(
    { ...members, code: stringEnum(codes, { ...extensible, description: 'The error code.' }) },
    { $id: `${name}Object`, additionalProperties: false, description: `The error. ${listed}` },
  );
  return [error, envelopeOf(error, name, listed)];
});
