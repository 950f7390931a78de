/** Responds to requests that Node's parser rejects. Contract section 6, reliability tests 45 and 48. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import fp from 'fastify-plugin';
import { announcedLength } from '../bodies/reader.ts';
import { UnreadBodies } from '../bodies/unread.ts';
import { newId } from '../domain/ids.ts';
import { ApiError, errorEnvelope } from '../errors.ts';
import { securityHeaders } from './security-headers.ts';

/** How long a connection stays open so that the client can read the error. */
const FLUSH_MS = 1000;
/** After an early response, the connection stays open only if the whole body is at most this long. */
const SHORT_BODY_BYTES = 64 * 1024;

/** Connections that got a response before their request arrived completely. */
const answered = new WeakSet<Socket>();

type ServingSocket = Socket & { _httpMessage?: { headersSent: boolean } | null };

/** The client would misread a second response, or one inside another. */
const mayAnswer = (socket: ServingSocket) =>
  socket.writable && !answered.has(socket) && !socket._httpMessage?.headersSent;

const messages: Readonly<Record<string, string>> = {
  HPE_HEADER_OVERFLOW: 'The URL and the headers of the request are too large. Shorten them.',
  ERR_HTTP_REQUEST_TIMEOUT: 'The request arrived too slowly. Try again on a faster connection.',
};

/** Creates Fastify's `clientErrorHandler`. It always closes the connection. */
export function answerClientError(publicUrl: string) {
  return (error: NodeJS.ErrnoException, socket: ServingSocket): void => {
    if (error.code === 'ECONNRESET' || !mayAnswer(socket)) {
      socket.destroy();
      return;
    }
    const requestId = newId();
    const problem = new ApiError('invalidRequest', {
      message: messages[error.code ?? ''] ?? 'The request is not valid HTTP.',
    });
    const body = JSON.stringify(errorEnvelope(problem, requestId, publicUrl));
    const head = [
      'HTTP/1.1 400 Bad Request',
      'Content-Type: application/json; charset=utf-8',
      `Content-Length: ${Buffer.byteLength(body)}`,
      ...Object.entries(securityHeaders).map(([name, value]) => `${name}: ${value}`),
      `X-Request-Id: ${requestId}`,
      'Connection: close',
    ];
    socket.end(`${head.join('\r\n')}\r\n\r\n${body}`);
    // Give the client time to read the response, but do not rely on it to close the connection.
    setTimeout(() => socket.destroy(), FLUSH_MS).unref();
  };
}

function isFarFromWhole(raw: IncomingMessage): boolean {
  const length = announcedLength(raw);
  return length === undefined ? raw.headers['transfer-encoding'] !== undefined : length > SHORT_BODY_BYTES;
}

const expecting = new WeakMap<IncomingMessage, ServerResponse>();

/** Sends `100 Continue` if the client waits for it. */
export function askForBody(raw: IncomingMessage): void {
  expecting.get(raw)?.writeContinue();
  expecting.delete(raw);
}

export default fp(
  async (app) => {
    const unread = new UnreadBodies();
    app.server.on('checkContinue', (request, response) => {
      expecting.set(request, response);
      app.server.emit('request', request, response);
    });
    // Ignore other expectations (RFC 9110, section 10.1.1), to which Node would respond itself.
    app.server.on('checkExpectation', (request, response) => app.server.emit('request', request, response));
    app.addHook('onSend', ({ raw }, reply, _payload, done) => {
      if (!raw.complete) {
        if (isFarFromWhole(raw)) reply.header('connection', 'close');
        unread.drop(raw);
      }
      done();
    });
    app.addHook('onResponse', ({ raw }, _reply, done) => {
      if (!raw.complete) {
        answered.add(raw.socket);
        unread.endSoon(raw);
      }
      done();
    });
    app.addHook('onRequest', ({ raw }, _reply, done) => {
      answered.delete(raw.socket);
      done();
    });
  },
  { name: 'client-errors' },
);
