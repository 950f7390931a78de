/** Examples of each operation's errors, exactly as the service sends them. Contract section 6. */
import type { FastifyContextConfig, FastifyError } from 'fastify';
import type { ErrorCode } from '../../schemas/errors.ts';
import { type Scope, scopes } from '../../schemas/keys.ts';
import type { Meter } from '../../schemas/plans.ts';
import { inMebibytes, payloadTooLarge } from '../bodies/too-large.ts';
import { ApiError } from '../errors.ts';
import { insufficientScope } from '../keys/access.ts';
import { quotaExceeded, tokensExceeded } from '../ledger/quota.ts';
import { rateLimitExceeded } from '../limits/exceeded.ts';
import { crossSiteRequest } from '../requests/csrf.ts';
import { toApiError } from '../requests/errors.ts';

/** `about` is the end of the names of components with the error. Empty if the error is the same in every operation. */
export type ErrorExample = { error: ApiError; about: string };
/** If an operation returns an error for several reasons, the usual one is first. */
export type ErrorExamples = (code: ErrorCode) => readonly [ErrorExample, ...ErrorExample[]];

export const capitalized = (text: string) => text.charAt(0).toUpperCase() + text.slice(1);

/** Fixed example values, so that the file and the served document are identical. */
const readAt = new Date('2026-11-20T13:45:12.345Z');
export const exampleOrigin = 'http://localhost:3000';

/** The error that the validator reports about a body or a query. `field` is a part of it. */
const invalid = (context: string, keyword: string, params: object, field = ''): ApiError =>
  toApiError({
    validation: [{ keyword, instancePath: field && `/${field}`, schemaPath: '', params }],
    validationContext: context,
  } as unknown as FastifyError);

const unknownField = (context: string) =>
  invalid(context, 'additionalProperties', { additionalProperty: 'color' });

/** Turns `current_password` into `CurrentPassword`. */
const inName = (field: string) => field.split('_').map(capitalized).join('');

const without = (context: string, field: string): ErrorExample => ({
  error: invalid(context, 'required', { missingProperty: field }),
  about: `Without${inName(field)}`,
});

/** A query parameter. `maximum` is only for numbers. */
export type QueryParameter = { name: string; required?: boolean; schema: { maximum?: number } };

const overMaximum = (field: string, limit: number): ErrorExample => ({
  error: invalid('querystring', 'maximum', { limit }, field),
  about: `For${inName(field)}Over${limit}`,
});

function invalidRequest(
  body: { required?: readonly string[] } | undefined,
  query: readonly QueryParameter[],
): ErrorExample {
  const required = query.find((parameter) => parameter.required);
  if (required !== undefined) return without('querystring', required.name);
  const [limited] = query.flatMap(({ name, schema: { maximum } }) =>
    maximum === undefined ? [] : [{ name, maximum }],
  );
  if (limited !== undefined) return overMaximum(limited.name, limited.maximum);
  if (body === undefined) return { error: unknownField('querystring'), about: '' };
  const [field] = body.required ?? [];
  return field === undefined
    ? { error: unknownField('body'), about: 'WithUnknownField' }
    : without('body', field);
}

const forScope = (scope: Scope): ErrorExample => ({
  error: insufficientScope([scopes.find((one) => one !== scope) ?? scope], scope),
  about: `For${capitalized(scope)}`,
});

const forMeter = (meter: Meter): ErrorExample => ({
  error: quotaExceeded({ meter, ceiling: 50, used: 50, readAt }, 1),
  about: `For${capitalized(meter)}`,
});

/** Meters whose requests also use tokens, which a plan can limit. */
const metersWithTokens: readonly Meter[] = ['chat', 'embeddings'];

const forTokens = (): ErrorExample => ({
  error: tokensExceeded({ meter: 'tokens', ceiling: 20_000, used: 18_800, readAt }, 4190),
  about: 'ForTokens',
});

function rateLimit(): ApiError {
  const limit = { name: 'requests', ceiling: 20, remaining: 0, windowSeconds: 60, resetSeconds: 42 };
  return rateLimitExceeded(limit, 'requests', readAt.getTime());
}

/**
 * @param body - the schema of the operation's body, if it has one
 * @param query - its query parameters
 */
export function errorExamples(
  {
    bodyLimit,
    errorExamples: own = {},
    meter,
    scope,
  }: FastifyContextConfig & { bodyLimit?: number | undefined },
  body: { required?: readonly string[] } | undefined,
  query: readonly QueryParameter[],
): ErrorExamples {
  const ownByCode = new Map(Object.entries(own).map(([about, error]) => [error.code, { error, about }]));
  const of: Partial<Record<ErrorCode, () => ErrorExample>> = {
    invalidRequest: () => invalidRequest(body, query),
    ...(scope && { insufficientScope: () => forScope(scope) }),
    ...(meter && { quotaExceeded: () => forMeter(meter) }),
    ...(bodyLimit && {
      payloadTooLarge: () => ({
        error: payloadTooLarge(bodyLimit),
        about: `Over${inMebibytes(bodyLimit).replace(' ', '')}`,
      }),
    }),
    rateLimitExceeded: () => ({ error: rateLimit(), about: '' }),
    crossSiteRequest: () => ({ error: crossSiteRequest(exampleOrigin), about: '' }),
    emailTaken: () => ({ error: new ApiError('emailTaken', { param: 'email' }), about: '' }),
  };
  return (code) => {
    const param = code.startsWith('idempotency') ? { param: 'idempotency-key' } : {};
    const usual = ownByCode.get(code) ?? of[code]?.() ?? { error: new ApiError(code, param), about: '' };
    const isOfTokens = code === 'quotaExceeded' && meter && metersWithTokens.includes(meter);
    return isOfTokens ? [usual, forTokens()] : [usual];
  };
}

/** Joins the errors' `about` texts, for the name of a response. */
export const describeErrors = (codes: readonly ErrorCode[], examples: ErrorExamples): string =>
  [...new Set(codes.map((code) => examples(code)[0].about))].join('');
