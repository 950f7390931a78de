/** Delays pipelined requests until their turn. A queued response has no socket, so it would miss the socket's close. */
import type { Socket } from 'node:net';
import fp from 'fastify-plugin';

const MAX_WAITING = 100;

export default fp(
  async (app) => {
    const waiting = new WeakMap<Socket, number>();
    app.addHook('onRequest', ({ raw: { socket } }, { raw: response }, done) => {
      // Leave the parser's callback first, because there even a request without a body has not ended.
      if (response.socket !== null) return queueMicrotask(done);
      const count = (waiting.get(socket) ?? 0) + 1;
      waiting.set(socket, count);
      if (count > MAX_WAITING) socket.destroy();
      response.once('socket', () => {
        waiting.set(socket, (waiting.get(socket) ?? 0) - 1);
        queueMicrotask(done);
      });
    });
  },
  { name: 'pipelining' },
);
