/** Documents each operation's errors. Operations with equal errors share a named response. Contract section 6. */
import type { FastifyContextConfig } from 'fastify';
import { errorSetName } from '../../schemas/error-sets.ts';
import { type ErrorCode, errorTable, hasAttempts } from '../../schemas/errors.ts';
import { messagesSetName } from '../../schemas/messages-errors.ts';
import { anthropicEnvelope, errorEnvelope } from '../errors.ts';
import {
  capitalized,
  describeErrors,
  type ErrorExample,
  type ErrorExamples,
  exampleOrigin,
} from './error-examples.ts';
import { errorHeaders, hasUpstreams } from './headers.ts';

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
  // Clients may send a body, which is checked, even if the operation expects none.
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

const requestId = '01932f62-4e1c-7f09-a0b1-c2d3e4f5a6b7';

/** Turns `ForCurrentPassword` into `current password`, and `Over16KiB` into `over 16 KiB`. */
const inWords = (about: string): string =>
  about
    .replace(/^For/, '')
    .replace(/(?<=[a-z])(?=[A-Z][a-z]|\d)|(?<=\d)(?=[A-Z])/g, ' ')
    .replace(/[A-Z][a-z]+\b/g, (word) => word.toLowerCase());

/** Adds a component for an error and returns its name. Throws if a different error has this name. */
function exampleOf(
  code: ErrorCode,
  { about, error }: ErrorExample,
  { surface }: FastifyContextConfig,
  shared: Shared,
): string {
  const base = `${code}${about}`;
  const [name, envelope] =
    surface === 'anthropic' ? [`messages${capitalized(base)}`, anthropicEnvelope] : [base, errorEnvelope];
  const example = {
    summary: about === '' ? code : `${code}: ${inWords(about)}`,
    value: envelope(error, requestId, exampleOrigin),
  };
  const known = shared.examples[name];
  if (known !== undefined && JSON.stringify(known) !== JSON.stringify(example))
    throw new Error(`Two errors are called ${name}. Rename one in \`errorExamples\`.`);
  shared.examples[name] = example;
  return name;
}

/** Uses only the message. The response itself and the guide explain what to do. */
const lineOf = (code: ErrorCode) => `- \`${code}\`: ${errorTable[code].message}`;

/**
 * Distinguishes responses that have the same errors, but other headers. Those of deprecated operations depend on whether
 * there is a link.
 */
function endOf(config: FastifyContextConfig, codes: readonly ErrorCode[]): string {
  const { announcement } = config;
  return [
    codes.some(hasAttempts) && !hasUpstreams(config) ? 'WithoutAttempts' : '',
    announcement === undefined ? '' : `Deprecated${announcement.link ? 'WithLink' : ''}`,
  ].join('');
}

/** Returns an operation's error responses by status, as references to components that it adds to `shared`. */
export function errorResponses(
  codes: readonly ErrorCode[],
  config: FastifyContextConfig,
  examples: ErrorExamples,
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
      const [prefix, base] = [capitalized(access), set.replace(/Error$/, '')];
      const isOfMessages = config.surface === 'anthropic';
      const name = `${isOfMessages ? 'Messages' : ''}${base.startsWith(prefix) ? '' : prefix}${base}${describeErrors(ofStatus, examples)}${endOf(config, ofStatus)}`;
      const sorted = [...ofStatus].sort();
      shared.responses[name] ??= {
        description: sorted.map(lineOf).join('\n'),
        headers: errorHeaders(status, config, ofStatus),
        content: {
          'application/json': {
            schema: { $ref: `#/components/schemas/${isOfMessages ? messagesSetName(set) : set}` },
            examples: Object.fromEntries(
              sorted.flatMap((code) =>
                examples(code).map((example, index) => [
                  index === 0 ? code : `${code}${example.about}`,
                  { $ref: `#/components/examples/${exampleOf(code, example, config, shared)}` },
                ]),
              ),
            ),
          },
        },
      };
      return [status, { $ref: `#/components/responses/${name}` }];
    }),
  );
}
