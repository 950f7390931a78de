/** How Fastify listens, logs and compiles schemas. */

import type { Socket } from 'node:net';
import type { FastifyReply, FastifyServerOptions } from 'fastify';
import { v7 as uuidv7 } from 'uuid';
import type { Config } from './config.ts';
import { holdsApiKey, withoutApiKeys } from './domain/api-key.ts';
import { ApiError, errorEnvelope } from './errors.ts';
import { serialiseError } from './logging.ts';
import { bareSecurityHeaders } from './plugins/security-headers.ts';
import { buildValidator } from './validation.ts';

const KIB = 1024;
/** Largest body where a route does not say otherwise. Contract section 6. */
export const BODY_LIMIT = 1024 * KIB;

/** What was refused before a request existed: Node's parser closed the connection. */
function answerClientError(publicUrl: string) {
  return (error: NodeJS.ErrnoException, socket: Socket) => {
    if (error.code === 'ECONNRESET' || !socket.writable) return;
    const requestId = uuidv7();
    const problem = new ApiError('invalidRequest', {
      message: 'The request is not valid HTTP, or came too slowly.',
    });
    const body = JSON.stringify(errorEnvelope(problem, requestId, publicUrl));
    const head = [
      'HTTP/1.1 400 Bad Request',
      'Content-Type: application/json; charset=utf-8',
      `Content-Length: ${Buffer.byteLength(body)}`,
      ...Object.entries(bareSecurityHeaders).map(([name, value]) => `${name}: ${value}`),
      `X-Request-Id: ${requestId}`,
      'Connection: close',
    ];
    socket.end(`${head.join('\r\n')}\r\n\r\n${body}`);
  };
}

/** The path alone, and of that no key: clients send keys where they do not belong, encoded or not. */
export function loggedPath(url: string | undefined): string {
  const path = (url ?? '').split('?', 1)[0] ?? '';
  const decoded = path.replace(/%[0-7][0-9a-f]/gi, (code) =>
    String.fromCharCode(Number.parseInt(code.slice(1), 16)),
  );
  return holdsApiKey(decoded) ? withoutApiKeys(decoded) : path;
}

/**
 * Options for `fastify()`.
 *
 * @param config - log level, proxies, public URL
 */
export function serverOptions(config: Config): FastifyServerOptions {
  return {
    bodyLimit: BODY_LIMIT,
    trustProxy: config.trustProxy as NonNullable<FastifyServerOptions['trustProxy']>,
    genReqId: () => uuidv7(),
    requestIdHeader: false,
    return503OnClosing: false,
    forceCloseConnections: 'idle',
    logger: {
      level: config.logLevel,
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
    schemaController: { compilersFactory: { buildValidator: buildValidator as never } },
    clientErrorHandler: answerClientError(config.publicUrl),
    frameworkErrors: (error, request, reply) => {
      const problem = new ApiError('invalidRequest', { message: 'The path is not valid.', cause: error });
      const envelope: unknown = errorEnvelope(problem, request.id, config.publicUrl);
      (reply as FastifyReply)
        .code(400)
        .headers({ 'x-request-id': request.id, ...bareSecurityHeaders })
        .send(envelope);
    },
  };
}
