/**
 * An orderly end. First `/readyz` answers 503 and connections end with their answer, so that clients and balancers go
 * elsewhere. Once the application closes nothing is accepted, answers have what is left of `DRAIN_SECONDS` to become
 * whole, and then they are ended with an error. Contract section 11.
 */
import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import fp from 'fastify-plugin';
import { Drain } from '../domain/drain.ts';
import { ApiError } from '../errors.ts';

/** How often connections are looked for that have fallen idle while the server closes. */
const SWEEP_MS = 100;
/** How long clients have, after the last words of an answer that was cut short, to take them. */
const LAST_WORDS_MS = 2000;

declare module 'fastify' {
  interface FastifyInstance {
    drain: Drain;
  }
}

export default fp(
  async (app) => {
    const { config, server } = app;
    const drain = new Drain(config.drainSeconds * 1000, config.readyDelaySeconds * 1000);
    app.decorate('drain', drain);
    // A pool that kept its connections would go on sending here.
    server.prependListener('request', (_request, response: ServerResponse) => {
      if (drain.isUnderWay) response.shouldKeepAlive = false;
    });

    /** Browsers and pools open connections in advance. Node counts those as busy, and would wait for them. */
    const unused = new Set<Socket>();
    server.on('connection', (socket: Socket) => {
      unused.add(socket);
      socket.once('close', () => unused.delete(socket));
    });
    server.on('request', ({ socket }) => unused.delete(socket));

    const timers: NodeJS.Timeout[] = [];
    const sweep = () => {
      for (const socket of unused) socket.destroy();
      // A connection whose answer ends meanwhile would be kept for as long as clients may keep one alive.
      server.closeIdleConnections();
    };
    const onDeadline = () => {
      app.inFlight.giveUp(new ApiError('serviceUnavailable'));
      timers.push(setTimeout(() => server.closeAllConnections(), LAST_WORDS_MS));
    };

    // Returns at once: Fastify then stops accepting, and waits for the connections to end.
    app.addHook('preClose', async () => {
      timers.push(setInterval(sweep, SWEEP_MS), setTimeout(onDeadline, drain.leftMs));
    });
    app.addHook('onClose', async () => {
      for (const timer of timers) clearTimeout(timer);
    });
  },
  { name: 'draining', dependencies: ['in-flight-requests'] },
);
