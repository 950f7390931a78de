/** Named sets of error codes, one per status of an operation: contract section 6. */
import { type TSchema, Type } from '@sinclair/typebox';
import { extensible, ref, stringEnum } from './common.ts';
import { ErrorBody, type ErrorCode, errorTable } from './errors.ts';

export const errorSets = {
  BadRequestError: ['invalidRequest', 'apiKeyInQuery'],
  CallerUnauthorizedError: [
    'missingCredentials',
    'invalidApiKey',
    'apiKeyRevoked',
    'apiKeyExpired',
    'sessionRequired',
  ],
  SessionUnauthorizedError: ['sessionRequired'],
  PasswordUnauthorizedError: ['sessionRequired', 'invalidLogin'],
  LogInUnauthorizedError: ['invalidLogin'],
  CallerForbiddenError: ['insufficientScope', 'originNotAllowed'],
  CallerListForbiddenError: ['insufficientScope', 'originNotAllowed', 'listingNotAllowed'],
  CallerWriteForbiddenError: ['insufficientScope', 'originNotAllowed', 'crossSiteRequest'],
  ModelForbiddenError: ['insufficientScope', 'originNotAllowed', 'crossSiteRequest', 'modelNotInPlan'],
  SessionForbiddenError: ['bearerNotAccepted'],
  SessionWriteForbiddenError: ['bearerNotAccepted', 'crossSiteRequest'],
  OperatorForbiddenError: ['bearerNotAccepted', 'operatorRequired'],
  OperatorWriteForbiddenError: ['bearerNotAccepted', 'crossSiteRequest', 'operatorRequired'],
  PlanForbiddenError: ['bearerNotAccepted', 'crossSiteRequest', 'planNotSelfServe'],
  LogInForbiddenError: ['crossSiteRequest'],
  SignUpForbiddenError: ['crossSiteRequest', 'signupsClosed'],
  NotFoundError: ['notFound'],
  EmailConflictError: ['emailTaken'],
  FinishedConflictError: ['alreadyFinished'],
  RetryConflictError: ['idempotencyInProgress'],
  PayloadTooLargeError: ['payloadTooLarge'],
  UnsupportedMediaTypeError: ['unsupportedMediaType'],
  RetryMismatchError: ['idempotencyMismatch'],
  RateLimitError: ['rateLimitExceeded'],
  KeyLimitError: ['apiKeyLimitReached', 'rateLimitExceeded'],
  CallLimitError: ['tooManyCalls', 'rateLimitExceeded'],
  QuotaError: ['quotaExceeded', 'tooManyCalls', 'rateLimitExceeded'],
  StreamQuotaError: ['quotaExceeded', 'tooManyStreams', 'tooManyCalls', 'rateLimitExceeded'],
  InternalError: ['internalError'],
  UpstreamError: ['upstreamError'],
  UnavailableError: ['serviceUnavailable'],
  BusyError: ['overloaded', 'serviceUnavailable'],
  UpstreamTimeoutError: ['upstreamTimeout'],
} as const satisfies Record<string, readonly [ErrorCode, ...ErrorCode[]]>;

export type ErrorSetName = keyof typeof errorSets;

const keyOf = (codes: readonly ErrorCode[]) => [...codes].sort().join(' ');
const names = new Map(
  Object.entries(errorSets).map(([name, codes]) => [keyOf(codes), name as ErrorSetName] as const),
);

/** The component name of a set of error codes. Throws if the set has no name. */
export function errorSetName(codes: readonly ErrorCode[]): ErrorSetName {
  const name = names.get(keyOf(codes));
  if (name === undefined)
    throw new Error(`Give the set of errors "${codes.join(', ')}" a name in schemas/error-sets.ts.`);
  return name;
}

const listed = (codes: readonly ErrorCode[]) =>
  `Status ${errorTable[codes[0] as ErrorCode].status}: ${codes.map((code) => `\`${code}\``).join(', ')}.`;

/**
 * Two components per set: the envelope, and the error in it. Each repeats all of `ErrorBody`, because generators can
 * compile a plain object, but not an `allOf` that narrows `code`.
 */
export const errorSetSchemas: TSchema[] = Object.entries(errorSets).flatMap(([name, codes]) => {
  const body = Type.Object(
    {
      ...ErrorBody.properties,
      code: stringEnum(codes, { ...extensible, description: 'The error code.' }),
    },
    { $id: `${name}Body`, additionalProperties: false, description: `The error. ${listed(codes)}` },
  );
  return [
    body,
    Type.Object({ error: ref(body) }, { $id: name, additionalProperties: false, description: listed(codes) }),
  ];
});
