/**
 * Answers what Node's parser refuses: no valid HTTP, or a request that does not come in time. There is no Fastify request
 * then, or not all of it. Contract section 6, reliability tests 45 and 48.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import fp from 'fastify-plugin';
import { v7 as uuidv7 } from 'uuid';
import { announcedLength } from '../bodies/reader.ts';
import { ApiError, errorEnvelope } from '../errors.ts';
import { bareSecurityHeaders } from './security-headers.ts';

/** How long a connection stays open for the client to read why it is closed. */
const LAST_WORDS_MS = 1000;
/** The same for a client that is still sending: what it sends is read and dropped, or its own system would drop the answer. */
const DROPPING_MS = 5000;
/** A request that was answered early is waited for where no more than this is to come. */
const SHORT_BODY_BYTES = 64 * 1024;

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
      message: 'The request is not valid HTTP or arrived too slowly.',
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

/** Whether much of a request may still be to come. */
function isFarFromWhole(raw: IncomingMessage): boolean {
  const length = announcedLength(raw);
  return length === undefined ? raw.headers['transfer-encoding'] !== undefined : length > SHORT_BODY_BYTES;
}

/** Where an answer closes its connection: not before it could be read. Node would close it while the client still sends. */
function closeAfterAnswer(raw: IncomingMessage): void {
  const { socket } = raw;
  socket.destroySoon = () => {
    socket.end();
    raw.resume();
    setTimeout(() => socket.destroy(), DROPPING_MS).unref();
  };
}

/** Requests whose client waits to be told that it may send the body. */
const expecting = new WeakMap<IncomingMessage, ServerResponse>();

/** Tells a client that waits for it that its body is wanted (`Expect: 100-continue`). */
export function askForBody(raw: IncomingMessage): void {
  expecting.get(raw)?.writeContinue();
  expecting.delete(raw);
}

export default fp(
  async (app) => {
    // A body that is refused need not be sent at all.
    app.server.on('checkContinue', (request, response) => {
      expecting.set(request, response);
      app.server.emit('request', request, response);
    });
    // Expectations other than 100-continue are passed over (RFC 9110, section 10.1.1): Node would answer them itself.
    app.server.on('checkExpectation', (request, response) => app.server.emit('request', request, response));
    app.addHook('onSend', async ({ raw }, reply) => {
      if (raw.complete) return;
      if (isFarFromWhole(raw)) reply.header('connection', 'close');
      closeAfterAnswer(raw);
    });
    app.addHook('onResponse', async ({ raw }) => {
      if (raw.complete) return;
      answered.add(raw.socket);
      setTimeout(() => raw.complete || raw.socket.destroy(), DROPPING_MS).unref();
    });
    app.addHook('onRequest', async ({ raw }) => {
      answered.delete(raw.socket);
    });
  },
  { name: 'client-errors' },
);
