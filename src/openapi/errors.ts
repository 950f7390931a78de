/** Documents each operation's errors. Operations with equal errors share a named response. Contract section 6. */
import type { FastifyContextConfig } from 'fastify';
import { errorSetName } from '../../schemas/error-sets.ts';
import { type ErrorCode, errorTable } from '../../schemas/errors.ts';
import { type Scope, scopes } from '../../schemas/keys.ts';
import { messagesSetName } from '../../schemas/messages-errors.ts';
import type { Meter } from '../../schemas/plans.ts';
import { quotaExceeded } from '../domain/quota.ts';
import { insufficientScope } from '../domain/verify-key.ts';
import { ApiError, anthropicEnvelope, errorEnvelope } from '../errors.ts';
import { rateLimitExceeded } from '../limits/exceeded.ts';
import { errorHeaders } from './headers.ts';

export type Access = NonNullable<FastifyContextConfig['access']>;
type Members = Record<string, unknown>;
export type Shared = { examples: Members; responses: Members };

const accessErrors: Record<Access, readonly ErrorCode[]> = {
  public: [],
  session: ['bearerNotAccepted', 'sessionRequired', 'rateLimitExceeded'],
  caller: [
    'sessionRequired',
    'missingCredentials',
    'invalidApiKey',
    'apiKeyRevoked',
    'apiKeyExpired',
    'insufficientScope',
    'originNotAllowed',
    'rateLimitExceeded',
  ],
};

const meterErrors: readonly ErrorCode[] = [
  'quotaExceeded',
  'tooManyCalls',
  'idempotencyInProgress',
  'idempotencyMismatch',
  'upstreamError',
  'upstreamTimeout',
  'overloaded',
];
const bodyErrors: readonly ErrorCode[] = ['payloadTooLarge', 'unsupportedMediaType', 'overloaded'];
const inputErrors: readonly ErrorCode[] = ['invalidRequest', 'apiKeyInQuery'];
const alwaysErrors: readonly ErrorCode[] = ['internalError', 'serviceUnavailable'];

/** The error codes of an operation, including those of its guards. */
export function errorsOf(config: FastifyContextConfig, method: string): ErrorCode[] {
  const access = config.access ?? 'public';
  // A body may be sent, and is checked, even if the operation expects none.
  const mayHaveBody = method !== 'GET';
  const isUnsafeForBrowsers = access !== 'public' && method !== 'GET';
  return [
    ...new Set<ErrorCode>([
      ...inputErrors,
      ...accessErrors[access],
      ...(isUnsafeForBrowsers ? (['crossSiteRequest'] as const) : []),
      ...(mayHaveBody ? bodyErrors : []),
      ...(config.meter ? meterErrors : []),
      ...(config.errors ?? []),
      ...alwaysErrors,
    ]),
  ];
}

export const capitalised = (text: string) => text.charAt(0).toUpperCase() + text.slice(1);

/** Fixed example values, so that the file and the served document are identical. */
const readAt = new Date('2026-11-20T13:45:12.345Z');
const requestId = '01932f62-4e1c-7f09-a0b1-c2d3e4f5a6b7';
const exampleOrigin = 'http://localhost:3000';

function exampleError(code: ErrorCode, scope: Scope | undefined, meter: Meter | undefined): ApiError {
  if (code === 'insufficientScope' && scope)
    return insufficientScope([scopes.find((one) => one !== scope) ?? scope], scope);
  if (code === 'quotaExceeded' && meter) return quotaExceeded({ meter, ceiling: 50, used: 50, readAt });
  if (code === 'rateLimitExceeded') {
    const limit = { name: 'requests', ceiling: 20, remaining: 0, windowSeconds: 60, resetSeconds: 42 };
    return rateLimitExceeded(limit, 'requests', readAt.getTime());
  }
  if (code === 'invalidRequest') {
    const details = [{ path: '/color', message: 'is not a known field' }];
    return new ApiError(code, {
      message: 'In the query, `color` is not a known field.',
      param: 'color',
      details,
    });
  }
  if (code.startsWith('idempotency')) return new ApiError(code, { param: 'idempotency-key' });
  return new ApiError(code, code === 'emailTaken' ? { param: 'email' } : {});
}

function exampleOf(code: ErrorCode, config: FastifyContextConfig, shared: Shared): string {
  const { meter, scope, surface } = config;
  const about = code === 'insufficientScope' ? scope : code === 'quotaExceeded' ? meter : undefined;
  const base = about === undefined ? code : `${code}For${capitalised(about)}`;
  const [name, envelope] =
    surface === 'anthropic' ? [`messages${capitalised(base)}`, anthropicEnvelope] : [base, errorEnvelope];
  shared.examples[name] ??= {
    summary: about === undefined ? code : `${code}: ${about}`,
    value: envelope(exampleError(code, scope, meter), requestId, exampleOrigin),
  };
  return name;
}

/** Only the first sentence. The response itself and the guide say what to do. */
const lineOf = (code: ErrorCode) => `- \`${code}\`: ${errorTable[code].message}`;

/** Distinguishes responses with the same codes by name and example. */
function aboutOf(codes: readonly ErrorCode[], { meter, scope }: FastifyContextConfig): string {
  const about = codes.includes('insufficientScope')
    ? scope
    : codes.includes('quotaExceeded')
      ? meter
      : undefined;
  return about === undefined ? '' : `For${capitalised(about)}`;
}

/** Deprecated operations have more headers, which depend on whether there is a link. */
const endOf = ({ announcement }: FastifyContextConfig): string =>
  announcement === undefined ? '' : `Deprecated${announcement.link ? 'WithLink' : ''}`;

/** The error responses of an operation by status, as references to components added to `shared`. */
export function errorResponses(
  codes: readonly ErrorCode[],
  config: FastifyContextConfig,
  shared: Shared,
): Record<string, { $ref: string }> {
  const access = config.access ?? 'public';
  const byStatus = new Map<number, ErrorCode[]>();
  for (const code of codes) {
    const { status } = errorTable[code];
    byStatus.set(status, [...(byStatus.get(status) ?? []), code]);
  }
  return Object.fromEntries(
    [...byStatus].map(([status, ofStatus]) => {
      const set = errorSetName(ofStatus);
      const [prefix, base] = [capitalised(access), set.replace(/Error$/, '')];
      const isOfMessages = config.surface === 'anthropic';
      const name = `${isOfMessages ? 'Messages' : ''}${base.startsWith(prefix) ? '' : prefix}${base}${aboutOf(ofStatus, config)}${endOf(config)}`;
      const sorted = [...ofStatus].sort();
      shared.responses[name] ??= {
        description: sorted.map(lineOf).join('\n'),
        headers: errorHeaders(status, config, ofStatus),
        content: {
          'application/json': {
            schema: { $ref: `#/components/schemas/${isOfMessages ? messagesSetName(set) : set}` },
            examples: Object.fromEntries(
              sorted.map((code) => [
                code,
                { $ref: `#/components/examples/${exampleOf(code, config, shared)}` },
              ]),
            ),
          },
        },
      };
      return [status, { $ref: `#/components/responses/${name}` }];
    }),
  );
}
