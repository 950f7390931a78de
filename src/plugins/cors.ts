/**
 * CORS for pages that call the API with a key. A preflight carries no key, so it passes if any active key lists the
 * origin. Contract section 4, docs/decisions/0003-preflight-rule.md.
 */
import cors from '@fastify/cors';
import type { FastifyReply, FastifyRequest } from 'fastify';
import fp from 'fastify-plugin';
import { GroupCommit } from '../concurrency/group-commit.ts';
import { exposedHeaders } from '../domain/exposed-headers.ts';
import { isListable } from '../domain/origins.ts';
import { isOwnOrigin } from '../domain/own-origin.ts';
import { ApiError } from '../errors.ts';
import { ownAddress } from '../requests/csrf.ts';
import { listedOrigins, ORIGINS_PER_QUERY } from '../store/origins.ts';
import { type KnownPaths, methodNotAllowed } from './methods.ts';

const MAX_AGE_SECONDS = 600;
/** OpenAI's clients send a dozen custom headers. */
const MAX_HEADERS = 50;

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
    .slice(0, MAX_HEADERS);

/**
 * Lets the calling page read the response, or throws ApiError `originNotAllowed`. Call it as soon as the key is found.
 * Then pages can read errors, and foreign pages cause no count, charge, or work.
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
  // The key may have lost this origin since the request head arrived.
  for (const name of ['access-control-allow-origin', 'access-control-expose-headers'])
    reply.removeHeader(name);
  if (!isOwnOrigin(origin, ownAddress(request))) throw new ApiError('originNotAllowed');
}

/** Sets `Vary: Origin` on all callers' paths, even if the request is rejected early. Register it before the guards. */
export const varyByOrigin = fp(
  async (app) => {
    app.addHook('onRequest', (request, reply, done) => {
      if (request.routeOptions.config?.access === 'caller') reply.header('vary', 'Origin');
      done();
    });
  },
  { name: 'vary-by-origin' },
);

/** Responds to preflights for every path of its scope. Register it outside the guards. */
export const preflights = fp<{ paths: KnownPaths }>(
  async (scope, { paths: known }) => {
    // Runs one statement at a time, so that a flood of preflights uses only one connection.
    const listed = new GroupCommit<string, boolean>({
      batchSize: ORIGINS_PER_QUERY,
      queueSize: 10_000,
      write: async (origins) => {
        const found = await listedOrigins(scope.db, [...new Set(origins)]);
        return origins.map((origin) => found.has(origin));
      },
    });

    // Uses a separate scope, because its hook is only needed for OPTIONS requests.
    let ofPreflights = scope;
    await scope.register(async (child) => {
      ofPreflights = child;
      await child.register(cors, {
        delegator: async (request: FastifyRequest) => {
          const origin = preflightOrigin(request);
          const isOfCallers = request.routeOptions.config.access === 'caller';
          // With `false`, the plugin adds nothing. The request with the key or the route below sets the headers.
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
    });

    const paths = new Set<string>();
    scope.addHook('onRoute', ({ prefix, url }) => {
      if (paths.has(url)) return;
      paths.add(url);
      ofPreflights.options(
        url.slice(prefix.length),
        { schema: { hide: true }, config: { access: 'caller' } },
        async (request, reply) => {
          if (preflightOrigin(request) === undefined) throw methodNotAllowed(known, url);
          return reply.code(204).send();
        },
      );
    });
  },
  { name: 'preflights', dependencies: ['services', 'method-register'] },
);
