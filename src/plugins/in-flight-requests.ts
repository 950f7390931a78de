/** All in-flight work ends before the process does. Contract section 11. */
import fp from 'fastify-plugin';
import type { InFlightRequests } from '../requests/in-flight.ts';

export default fp<{ inFlight: InFlightRequests }>(
  async (app, { inFlight }) => {
    // Connections are closed by now, but the ledger still records work of clients that disconnected.
    app.addHook('onClose', () => inFlight.idle());
  },
  { name: 'in-flight-requests', dependencies: ['services'] },
);
