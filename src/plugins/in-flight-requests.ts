/** Adds `app.inFlight` and `app.running`, and waits for all work in flight before the process ends. Contract section 11. */
import fp from 'fastify-plugin';
import type { Database } from '../database/client.ts';
import { InFlightRequests } from '../requests/in-flight.ts';
import { RunningRequests } from '../requests/stoppable-requests.ts';

declare module 'fastify' {
  interface FastifyInstance {
    inFlight: InFlightRequests;
    running: RunningRequests;
  }
}

export default fp<{ database: Database }>(
  async (app, { database }) => {
    const inFlight = new InFlightRequests();
    app.decorate('inFlight', inFlight);
    app.decorate('running', new RunningRequests(database, app.log));
    // Connections are closed by now, but work for disconnected clients is still recorded.
    app.addHook('onClose', () => inFlight.idle());
  },
  { name: 'in-flight-requests', dependencies: ['services'] },
);
