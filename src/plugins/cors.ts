/**
 * Pages of other origins that call with a key. A preflight carries no credential: it is answered where some active key
 * lists the origin (docs/decisions/0003-preflight-rule.md). What is allowed, the key decides once it is found.
 * Contract section 4.
 */
import cors from '@fastify/cors';
import type { FastifyReply, FastifyRequest } from 'fastify';
import fp from 'fastify-plugin';
import { GroupCommit } from '../domain/group-commit.ts';
import { isListable } from '../domain/origins.ts';
import { isOwnOrigin } from '../domain/own-origin.ts';
import { ApiError } from '../errors.ts';
import { rateHeaderNames } from '../rate-headers.ts';
import { ownAddress } from '../requests/csrf.ts';
import { listedOrigins, ORIGINS_AT_ONCE } from '../store/origins.ts';
import { methodNotAllowed } from './methods.ts';

const MAX_AGE_SECONDS = 600;
/** OpenAI's clients send a dozen headers of their own. */
const MOST_HEADERS = 50;

/** What a page may read of an answer beside its body: a wildcard would name none of those with a key. */
export const exposedHeaders = [
  'retry-after',
  'x-should-retry',
  ...rateHeaderNames,
  'x-request-id',
  'idempotency-replayed',
  'x-parley-ignored-fields',
  'www-authenticate',
].join(', ');

/** The origin of a preflight; undefined where a request is none. */
function preflightOrigin({ headers, method }: FastifyRequest): string | undefined {
  const isPreflight = method === 'OPTIONS' && headers['access-control-request-method'] !== undefined;
  return isPreflight ? headers.origin : undefined;
}

const token = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;

const requestedHeaders = ({ headers }: FastifyRequest): string[] =>
  (headers['access-control-request-headers'] ?? '')
    .split(',')
    .map((name) => name.trim())
    .filter((name) => token.test(name))
    .slice(0, MOST_HEADERS);

/**
 * Lets the page that sent a request read its answer, or refuses the request. To be called as soon as the key is found,
 * so that errors can be read, too; a foreign page is refused before anything is counted, charged or done for it.
 *
 * @param key - the one that the request carries, whether or not it is active
 * @throws ApiError `originNotAllowed`
 */
export function acceptOrigin(
  request: FastifyRequest,
  reply: FastifyReply,
  { allowedOrigins }: { allowedOrigins: readonly string[] },
): void {
  const { origin } = request.headers;
  if (origin === undefined) return;
  if (allowedOrigins.includes(origin)) {
    reply.headers({
      'access-control-allow-origin': origin,
      'access-control-expose-headers': exposedHeaders,
    });
    return;
  }
  // It may have been listed when the head of the request came.
  for (const name of ['access-control-allow-origin', 'access-control-expose-headers'])
    reply.removeHeader(name);
  if (!isOwnOrigin(origin, ownAddress(request))) throw new ApiError('originNotAllowed');
}

/** Answers of the callers' paths depend on the origin, refusals before their guards included. Registered before these. */
export const varyByOrigin = fp(
  async (app) => {
    app.addHook('onRequest', async (request, reply) => {
      if (request.routeOptions.config?.access === 'caller') reply.header('vary', 'Origin');
    });
  },
  { name: 'vary-by-origin' },
);

/** Answers the preflights of every path of its scope. To be registered outside of what guards these. */
export const preflights = fp(
  async (scope) => {
    // One statement at a time, however many ask: whoever floods the service with preflights occupies one connection.
    const listed = new GroupCommit<string, boolean>({
      batchSize: ORIGINS_AT_ONCE,
      queueSize: 10_000,
      write: async (origins) => {
        const found = await listedOrigins(scope.db, [...new Set(origins)]);
        return origins.map((origin) => found.has(origin));
      },
    });

    await scope.register(cors, {
      delegator: async (request: FastifyRequest) => {
        const origin = preflightOrigin(request);
        const isOfCallers = request.routeOptions.config.access === 'caller';
        // With `false` the plugin adds nothing: the answer of the key's own request, or of the route below, stands alone.
        if (origin === undefined || !isOfCallers || !isListable(origin) || !(await listed.submit(origin)))
          return { origin: false } as const;
        return {
          origin: [origin],
          methods: ['GET', 'POST', 'DELETE'],
          allowedHeaders: requestedHeaders(request),
          maxAge: MAX_AGE_SECONDS,
        };
      },
    });

    const paths = new Set<string>();
    scope.addHook('onRoute', ({ prefix, url }) => {
      if (paths.has(url)) return;
      paths.add(url);
      scope.options(
        url.slice(prefix.length),
        { schema: { hide: true }, config: { access: 'caller' } },
        async (request, reply) => {
          if (preflightOrigin(request) === undefined) throw methodNotAllowed(scope, url);
          return reply.code(204).send();
        },
      );
    });
  },
  { name: 'preflights', dependencies: ['services', 'method-register'] },
);
