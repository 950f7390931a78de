/**
 * Graceful shutdown. First, `/readyz` returns 503, and each connection closes after its response. Once the application
 * closes, responses may use the rest of `DRAIN_SECONDS`, then end with an error. Contract section 11.
 */
import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import fp from 'fastify-plugin';
import { ApiError } from '../errors.ts';
import type { Drain } from '../requests/drain.ts';
import type { InFlightRequests } from '../requests/in-flight.ts';

/** How often shutdown closes idle connections. */
const SWEEP_MS = 100;
/** How long clients have to read the end of an interrupted response. */
const FLUSH_MS = 2000;

export default fp<{ drain: Drain; inFlight: InFlightRequests }>(
  async (app, { drain, inFlight }) => {
    const { server } = app;
    // Otherwise connection pools would keep sending requests here.
    server.prependListener('request', (_request, response: ServerResponse) => {
      if (drain.isUnderWay) response.shouldKeepAlive = false;
    });

    /** Connections that browsers and pools open in advance. Node counts them as busy and would wait for them. */
    const unused = new Set<Socket>();
    server.on('connection', (socket: Socket) => {
      unused.add(socket);
      socket.once('close', () => unused.delete(socket));
    });
    server.on('request', ({ socket }) => unused.delete(socket));

    const timers: NodeJS.Timeout[] = [];
    const sweep = () => {
      for (const socket of unused) socket.destroy();
      // Otherwise a connection stays open for the keep-alive timeout after its response.
      server.closeIdleConnections();
    };
    const onDeadline = () => {
      inFlight.abortAll(new ApiError('serviceUnavailable'));
      timers.push(setTimeout(() => server.closeAllConnections(), FLUSH_MS));
    };

    app.addHook('preClose', async () => {
      timers.push(setInterval(sweep, SWEEP_MS), setTimeout(onDeadline, drain.leftMs));
    });
    app.addHook('onClose', async () => {
      for (const timer of timers) clearTimeout(timer);
    });
  },
  { name: 'draining', dependencies: ['in-flight-requests'] },
);
