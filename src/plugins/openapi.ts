/** Generates `openapi.json`. Security, headers, and error responses derive from the `config` of each route. */
import swagger from '@fastify/swagger';
import type { FastifyContextConfig } from 'fastify';
import fp from 'fastify-plugin';
import type { ErrorCode } from '../../schemas/errors.ts';
import { components } from '../../schemas/index.ts';
import type { Scope } from '../../schemas/keys.ts';
import type { Meter } from '../../schemas/plans.ts';
import type { Announcement } from '../domain/deprecation.ts';
import type { ApiError } from '../errors.ts';
import { info, securitySchemes, servers, tags } from '../openapi/info.ts';
import { type DocumentedConfig, withOperations } from '../openapi/operations.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** `caller`: a Bearer key or the dashboard session. `session`: only the session. Set by the scope's guard. */
    access?: 'caller' | 'session' | 'public';
    /** Scope that a key needs. Every caller route sets this or `takesAnyKey`. */
    scope?: Scope;
    takesAnyKey?: true;
    /** Whether it lists data that others created with the same key. Public keys are refused. */
    isListing?: true;
    meter?: Meter;
    /** Errors of the route itself, without those of its guards. */
    errors?: readonly ErrorCode[];
    /** Those whose message differs from the table's, as the route throws them, by the end of their component's name. */
    errorExamples?: Readonly<Record<string, ApiError>>;
    setsCookie?: true;
    /** Whether browsers save its response. */
    isFile?: true;
    /** Whose clients it is for, if not OpenAI's: it takes the key as `x-api-key` too, and its errors differ. */
    surface?: 'anthropic';
    /** Whether unknown fields are dropped and named in a header. */
    ignoresFields?: true;
  }
}

/** OpenAPI 3.1 allows role names in any security requirement: here, the key's scope. */
const securityOf = ({ access = 'public', scope, surface }: FastifyContextConfig) => {
  if (access === 'public') return [];
  const session = { session: [] };
  if (access === 'session') return [session];
  const scopes = scope === undefined ? [] : [scope];
  return [{ apiKey: scopes }, ...(surface === 'anthropic' ? [{ apiKeyHeader: scopes }] : []), session];
};

const inWords = ({ link, since, sunset }: Announcement) =>
  `Deprecated since ${since}; may be removed on or after ${sunset}.${link ? ` [What to use instead](${link}).` : ''}`;

export default fp(
  async (app) => {
    for (const component of components) app.addSchema(component);
    const configOf = new Map<string, DocumentedConfig>();

    await app.register(swagger, {
      openapi: {
        openapi: '3.1.0',
        info,
        tags,
        servers,
        components: { securitySchemes },
      },
      convertConstToEnum: false,
      refResolver: { buildLocalReference: (json) => String(json.$id) },
      transform: ({ schema, url, route }) => {
        if (schema === undefined || schema.hide || route.method === 'HEAD')
          return { schema: { ...schema, hide: true }, url };
        const config = route.config ?? {};
        if (schema.operationId === undefined) throw new Error(`Give ${route.method} ${url} an operationId.`);
        configOf.set(String(schema.operationId), {
          ...config,
          bodyLimit: route.bodyLimit ?? app.initialConfig.bodyLimit,
        });
        const needs = [
          config.scope && `Requires the \`${config.scope}\` scope when called with a key.`,
          config.meter && `Counts toward the daily \`${config.meter}\` quota.`,
          config.announcement && inWords(config.announcement),
        ].filter(Boolean);
        return {
          schema: {
            ...schema,
            description: [schema.description ?? schema.summary, ...needs].join('\n\n'),
            security: securityOf(config),
            ...(config.scope && { 'x-required-scopes': [config.scope] }),
            ...(config.announcement && { 'x-sunset': config.announcement.sunset }),
          },
          url,
        };
      },
      transformObject: (document) =>
        'openapiObject' in document
          ? (withOperations(document.openapiObject as never, configOf) as typeof document.openapiObject)
          : document.swaggerObject,
    });
  },
  { name: 'openapi', dependencies: ['errors'] },
);
