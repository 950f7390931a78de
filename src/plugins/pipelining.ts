/** Delays pipelined requests until their turn: a queued response has no socket, and would miss its close. */
import { once } from 'node:events';
import type { Socket } from 'node:net';
import fp from 'fastify-plugin';

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
