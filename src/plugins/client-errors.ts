/**
 * Answers what Node's parser refuses: no valid HTTP, or a request that does not come in time. There is no Fastify request
 * then, or not all of it. Contract section 6, reliability tests 45 and 48.
 */
import type { Socket } from 'node:net';
import fp from 'fastify-plugin';
import { v7 as uuidv7 } from 'uuid';
import { ApiError, errorEnvelope } from '../errors.ts';
import { bareSecurityHeaders } from './security-headers.ts';

/** How long a connection stays open for the client to read why it is closed. */
const LAST_WORDS_MS = 1000;

/** Connections whose request was answered before all of it had come. */
const answered = new WeakSet<Socket>();

type ServingSocket = Socket & { _httpMessage?: { headersSent: boolean } | null };

/** A second answer, or one within another, would be taken for what it is not. */
const mayAnswer = (socket: ServingSocket) =>
  socket.writable && !answered.has(socket) && !socket._httpMessage?.headersSent;

/**
 * Makes Fastify's `clientErrorHandler`, which closes the connection in any case.
 *
 * @param publicUrl - for the link to the explanation
 */
export function answerClientError(publicUrl: string) {
  return (error: NodeJS.ErrnoException, socket: ServingSocket): void => {
    if (error.code === 'ECONNRESET' || !mayAnswer(socket)) {
      socket.destroy();
      return;
    }
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
    // Not before it could be read, and not only when the client closes its end.
    setTimeout(() => socket.destroy(), LAST_WORDS_MS).unref();
  };
}

export default fp(
  async (app) => {
    // Expectations other than 100-continue are passed over (RFC 9110, section 10.1.1): Node would answer them itself.
    app.server.on('checkExpectation', (request, response) => app.server.emit('request', request, response));
    app.addHook('onResponse', async ({ raw }) => {
      if (!raw.complete) answered.add(raw.socket);
    });
    app.addHook('onRequest', async ({ raw }) => {
      answered.delete(raw.socket);
    });
  },
  { name: 'client-errors' },
);
