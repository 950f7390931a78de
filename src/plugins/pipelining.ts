/**
 * Pipelined requests are handled in their turn. A response that waits behind another one on its connection has no socket
 * yet, and hears nothing when the connection closes: whatever was begun for it would stay open for good.
 */
import { once } from 'node:events';
import type { Socket } from 'node:net';
import fp from 'fastify-plugin';

/** More requests waiting on one connection than any client sends. */
const MAX_WAITING = 100;

export default fp(
  async (app) => {
    const waiting = new WeakMap<Socket, number>();
    app.addHook('onRequest', async ({ raw: { socket } }, { raw: response }) => {
      if (response.socket !== null) return;
      const count = (waiting.get(socket) ?? 0) + 1;
      waiting.set(socket, count);
      if (count > MAX_WAITING) socket.destroy();
      await once(response, 'socket');
      waiting.set(socket, (waiting.get(socket) ?? 0) - 1);
    });
  },
  { name: 'pipelining' },
);
