/**
 * `openapi.json` from the schemas of the routes. A route declares what is its own in `config` (who may call it,
 * which scope and meter, which errors it raises); security and error responses follow from that here.
 */
import swagger from '@fastify/swagger';
import type { FastifyContextConfig } from 'fastify';
import fp from 'fastify-plugin';
import { type ErrorCode, errorTable } from '../../schemas/errors.ts';
import { components } from '../../schemas/index.ts';
import type { Scope } from '../../schemas/keys.ts';
import type { Meter } from '../../schemas/plans.ts';
import { version } from '../project.ts';
import { withHeaders } from './openapi-headers.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Who may call: a Bearer key or the web (`caller`), the dashboard session only, or anybody. Set by the scope's guard. */
    access?: 'caller' | 'session' | 'public';
    /** The scope that a key needs. */
    scope?: Scope;
    /** The meter that a call is charged on. */
    meter?: Meter;
    /** What the route itself can raise; its guards' errors are added. */
    errors?: readonly ErrorCode[];
  }
}

const tags = [
  { name: 'Chat', description: 'Talk to a model.' },
  { name: 'Conversations', description: 'Stored conversations.' },
  { name: 'Images', description: 'Pictures from words.' },
  { name: 'Search', description: 'Search.' },
  { name: 'Models', description: 'The models that answer.' },
  { name: 'Usage', description: "Today's use of the quota." },
  { name: 'Keys', description: 'API keys, managed by the signed-in owner.' },
  { name: 'Plans', description: 'Plans and the subscription.' },
  { name: 'Account', description: 'Signing up, signing in, and the account.' },
  { name: 'Service', description: 'This installation.' },
];

const info = {
  title: 'Parley API',
  version,
  description:
    'A chat API with keys, scopes and one exact daily quota shared by web and API use. Send your key as `Authorization: Bearer <API_KEY>`.',
  contact: { name: 'Parley contributors' },
  license: { name: 'MIT', identifier: 'MIT' },
};

const accessErrors: Record<NonNullable<FastifyContextConfig['access']>, readonly ErrorCode[]> = {
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
  'idempotencyInProgress',
  'idempotencyMismatch',
  'upstreamError',
  'upstreamTimeout',
  'overloaded',
];
const bodyErrors: readonly ErrorCode[] = ['payloadTooLarge', 'unsupportedMediaType'];
const inputErrors: readonly ErrorCode[] = ['invalidRequest', 'apiKeyInQuery'];
const alwaysErrors: readonly ErrorCode[] = ['internalError', 'serviceUnavailable'];

/** Every error code that an operation can answer with: its own, and those of what stands before it. */
export function errorsOf(config: FastifyContextConfig, method: string): ErrorCode[] {
  const access = config.access ?? 'public';
  // A body is looked at wherever one may be sent, also where none is wanted.
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

/** One response per status, naming the codes that it can carry. */
function errorResponses(codes: readonly ErrorCode[]): Record<string, unknown> {
  const lines: Record<number, string[]> = {};
  for (const code of codes) {
    const { status, message } = errorTable[code];
    lines[status] = [...(lines[status] ?? []), `- \`${code}\`: ${message}`];
  }
  return Object.fromEntries(
    Object.entries(lines).map(([status, ofStatus]) => [
      status,
      { description: ofStatus.join('\n'), $ref: 'ErrorResponse#' },
    ]),
  );
}

const security = { public: [], session: [{ session: [] }], caller: [{ apiKey: [] }, { session: [] }] };

/** Sorted members, so that two dumps are the same to the byte whatever the order of registration. */
const sorted = <T extends object>(value: T | undefined): T =>
  Object.fromEntries(Object.entries(value ?? {}).sort(([one], [other]) => (one < other ? -1 : 1))) as T;

export default fp(
  async (app) => {
    for (const component of components) app.addSchema(component);

    await app.register(swagger, {
      openapi: {
        openapi: '3.1.0',
        info,
        tags,
        servers: [{ url: '/' }],
        components: {
          securitySchemes: {
            apiKey: {
              type: 'http',
              scheme: 'bearer',
              description:
                'An API key with the scope that the operation names. Pages of the origins in its `allowed_origins` may call from browsers: preflights are answered, and every answer, errors and streams included, carries `Access-Control-Allow-Origin` and `Access-Control-Expose-Headers`. Pages of any other origin but the own get 403 `originNotAllowed`.',
            },
            session: {
              type: 'apiKey',
              in: 'cookie',
              name: 'parley_session',
              description:
                'The cookie of the signed-in owner, for the own origin only: its operations never send a CORS header. Named `__Host-parley_session` where the service is on https.',
            },
          },
        },
      },
      convertConstToEnum: false,
      refResolver: { buildLocalReference: (json) => String(json.$id) },
      transform: ({ schema, url, route }) => {
        if (schema === undefined || schema.hide || route.method === 'HEAD')
          return { schema: { ...schema, hide: true }, url };
        const config = route.config ?? {};
        const access = config.access ?? 'public';
        const codes = errorsOf(config, String(route.method));
        const needs = [
          config.scope && `Needs the scope \`${config.scope}\` when called with a key.`,
          config.meter && `Charges the daily quota \`${config.meter}\`.`,
        ].filter(Boolean);
        return {
          schema: {
            ...schema,
            description: [schema.description ?? schema.summary, ...needs].join('\n\n'),
            security: security[access],
            response: { ...(schema.response as object), ...errorResponses(codes) },
          },
          url,
        };
      },
      transformObject: (document) => {
        if (!('openapiObject' in document)) return document.swaggerObject;
        const { openapiObject } = document;
        const { components: all, paths } = openapiObject;
        return withHeaders({
          ...openapiObject,
          paths: sorted(paths),
          components: { ...all, schemas: sorted(all?.schemas) },
        } as typeof openapiObject);
      },
    });
  },
  { name: 'openapi', dependencies: ['errors'] },
);
