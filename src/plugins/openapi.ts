/** Generates `openapi.json`. Security, headers, and error responses come from each route's `config`. */
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
    /** Set by the scope's guard. `caller`: an API key or the dashboard session. `session`: only the session. */
    access?: 'caller' | 'session' | 'public';
    /** The scope that a key needs. Every caller route sets it. */
    scope?: Scope;
    /** Whether the route lists data that others created with the same key. It rejects public keys. */
    isListing?: true;
    meter?: Meter;
    /** Errors of the route itself, without those of its guards. */
    errors?: readonly ErrorCode[];
    /** Errors whose message differs from the table's, by the end of their component's name. */
    errorExamples?: Readonly<Record<string, ApiError>>;
    setsCookie?: true;
    /** Whether browsers save the response as a file. */
    isFile?: true;
    /** The API whose clients use the route, if not OpenAI's. It also accepts `x-api-key`, and its errors differ. */
    surface?: 'anthropic';
    /** Whether Parley drops unknown fields and names them in a header. */
    ignoresFields?: true;
  }
}

/** OpenAPI 3.1 allows role names in any security requirement. Here they are the key's scope. */
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
