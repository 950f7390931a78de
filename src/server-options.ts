/** Fastify's options and the limits of the HTTP server. Contract section 6. */
import type { Server } from 'node:http';
import type { FastifyHttpOptions, FastifyReply } from 'fastify';
import { bodyLimits, MIN_BYTES_PER_SECOND, UNMEASURED_MS } from './bodies/limits.ts';
import type { Config } from './config.ts';
import { withoutApiKeys } from './domain/api-key.ts';
import { newId } from './domain/ids.ts';
import { ApiError } from './errors.ts';
import { trustedProxies } from './limits/address.ts';
import { answerClientError } from './plugins/client-errors.ts';
import { securityHeaders } from './plugins/security-headers.ts';
import { idHeaders } from './requests/anthropic.ts';
import { envelopeFor } from './requests/envelope.ts';
import { loggerOptions } from './telemetry/logger-options.ts';
import { OneLinePerRequest, serializeError } from './telemetry/logging.ts';
import { traceOf } from './telemetry/tracing.ts';
import { buildSerializer } from './validation/lazy-compilers.ts';
import { buildValidator } from './validation/validators.ts';

/** How long a client may take to send the headers. Reliability test 48. */
const HEADERS_MS = 10_000;
/** How long the whole request may take: the largest body at the minimum speed, plus ten seconds. */
const REQUEST_MS = 1000 * Math.ceil(bodyLimits.chat / MIN_BYTES_PER_SECOND) + UNMEASURED_MS;
const CHECK_MS = 2000;
/** The path without its query and without API keys, which clients may put there, even percent-encoded. */
export const loggedPath = (url: string | undefined): string =>
  withoutApiKeys((url ?? '').split('?', 1)[0] ?? '');

/** @param worker - this worker's number, if there are several */
export function serverOptions(config: Config, worker?: number): FastifyHttpOptions<Server> {
  return {
    bodyLimit: bodyLimits.other,
    requestTimeout: REQUEST_MS,
    http: {
      headersTimeout: HEADERS_MS,
      connectionsCheckingInterval: CHECK_MS,
      // `single-headers` returns an error in the usual format instead.
      requireHostHeader: false,
    },
    trustProxy: trustedProxies(config.trustProxy),
    genReqId: newId,
    requestIdHeader: false,
    return503OnClosing: false,
    forceCloseConnections: 'idle',
    logController: new OneLinePerRequest(),
    childLoggerFactory: (logger, bindings, options, { headers }) => {
      const { id: traceId } = traceOf(headers, String(bindings.reqId));
      return logger.child({ ...bindings, traceId }, options);
    },
    logger: {
      ...loggerOptions(config.logLevel, worker),
      serializers: {
        req: (request: { method: string; url: string; ip: string }) => ({
          method: request.method,
          path: loggedPath(request.url),
          address: request.ip,
        }),
        err: serializeError as never,
      },
    },
    routerOptions: { maxParamLength: 300 },
    schemaController: { compilersFactory: { buildSerializer, buildValidator: buildValidator as never } },
    clientErrorHandler: answerClientError(config.publicUrl),
    frameworkErrors: (error, request, reply) => {
      const problem = new ApiError('invalidRequest', {
        message: 'The path is not percent-encoded UTF-8; write a percent sign as `%25`.',
        cause: error,
      });
      const envelope: unknown = envelopeFor(request, problem, config.publicUrl);
      // Fastify has not begun the request, so nothing else logs it.
      request.log.info({ req: request, res: { statusCode: 400 } }, 'request completed');
      (reply as FastifyReply)
        .code(400)
        .headers({ ...idHeaders(request), ...securityHeaders })
        .send(envelope);
    },
  };
}
