/** Adds `app.inFlight` and `app.running`. All in-flight work ends before the process does. Contract section 11. */
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
    // Connections are closed by now, but the ledger still records work of clients that disconnected.
    app.addHook('onClose', () => inFlight.idle());
  },
  { name: 'in-flight-requests', dependencies: ['services'] },
);
