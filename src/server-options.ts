/** How Fastify listens, logs and compiles schemas. */

import type { Server } from 'node:http';
import type { FastifyHttpOptions, FastifyReply } from 'fastify';
import { v7 as uuidv7 } from 'uuid';
import { bodyLimits, MIN_BYTES_PER_SECOND, UNMEASURED_MS } from './bodies/limits.ts';
import type { Config } from './config.ts';
import { withoutApiKeys } from './domain/api-key.ts';
import { ApiError, errorEnvelope } from './errors.ts';
import { buildSerializer } from './lazy-compilers.ts';
import { trustedProxies } from './limits/address.ts';
import { serialiseError } from './logging.ts';
import { answerClientError } from './plugins/client-errors.ts';
import { bareSecurityHeaders } from './plugins/security-headers.ts';
import { buildValidator } from './validation.ts';

/** How long a client may take for the head of a request. Reliability test 48. */
const HEADERS_MS = 10_000;
/** How long it may take for the whole of it: the largest body at the slowest speed, and ten seconds. */
const REQUEST_MS = 1000 * Math.ceil(bodyLimits.chat / MIN_BYTES_PER_SECOND) + UNMEASURED_MS;
/** How often Node looks whether a client took too long. */
const CHECK_MS = 2000;
/** The path alone, and of that no key: clients send keys where they do not belong, encoded once or more often. */
export const loggedPath = (url: string | undefined): string =>
  withoutApiKeys((url ?? '').split('?', 1)[0] ?? '');

/**
 * Options for `fastify()`.
 *
 * @param config - log level, proxies, public URL
 */
export function serverOptions(config: Config): FastifyHttpOptions<Server> {
  return {
    bodyLimit: bodyLimits.other,
    requestTimeout: REQUEST_MS,
    http: {
      headersTimeout: HEADERS_MS,
      connectionsCheckingInterval: CHECK_MS,
      // Answered in the one envelope, by `single-headers`.
      requireHostHeader: false,
    },
    trustProxy: trustedProxies(config.trustProxy),
    genReqId: () => uuidv7(),
    requestIdHeader: false,
    return503OnClosing: false,
    forceCloseConnections: 'idle',
    logger: {
      level: config.logLevel,
      // The last look at every line, whoever writes it: addresses, errors and their causes can repeat what clients sent.
      hooks: { streamWrite: withoutApiKeys },
      // The path only: a query string may hold what should not have been sent there.
      serializers: {
        req: (request: { method: string; url: string; ip: string }) => ({
          method: request.method,
          path: loggedPath(request.url),
          address: request.ip,
        }),
        err: serialiseError as never,
      },
      ...(process.stdout.isTTY && {
        transport: {
          target: 'pino-pretty',
          options: { ignore: 'pid,hostname', translateTime: 'SYS:HH:MM:ss' },
        },
      }),
    },
    routerOptions: { maxParamLength: 300 },
    schemaController: { compilersFactory: { buildSerializer, buildValidator: buildValidator as never } },
    clientErrorHandler: answerClientError(config.publicUrl),
    frameworkErrors: (error, request, reply) => {
      const problem = new ApiError('invalidRequest', {
        message: 'The path is not percent-encoded UTF-8; write a percent sign as `%25`.',
        cause: error,
      });
      const envelope: unknown = errorEnvelope(problem, request.id, config.publicUrl);
      (reply as FastifyReply)
        .code(400)
        .headers({ 'x-request-id': request.id, ...bareSecurityHeaders })
        .send(envelope);
    },
  };
}
