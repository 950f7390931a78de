/** Requests with metered work: their fields, and a shutdown that waits for them. Contract section 11. */
import fp from 'fastify-plugin';
import type { InFlightRequests } from '../requests/in-flight.ts';

export default fp<{ inFlight: InFlightRequests }>(
  async (app, { inFlight }) => {
    app.decorateRequest('routed');
    app.decorateRequest('prices');
    app.decorateRequest('maxOutput');
    // Connections are closed by now, but the ledger still records work of clients that disconnected.
    app.addHook('onClose', () => inFlight.idle());
  },
  { name: 'in-flight-requests', dependencies: ['services'] },
);
