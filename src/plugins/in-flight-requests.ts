/** Adds `app.inFlight`, and waits for all work in flight before the process ends. Contract section 11. */
import fp from 'fastify-plugin';
import { InFlightRequests } from '../requests/in-flight.ts';

declare module 'fastify' {
  interface FastifyInstance {
    inFlight: InFlightRequests;
  }
}

export default fp(
  async (app) => {
    const inFlight = new InFlightRequests();
    app.decorate('inFlight', inFlight);
    // Connections are closed by now, but work for disconnected clients is still recorded.
    app.addHook('onClose', () => inFlight.idle());
  },
  { name: 'in-flight-requests', dependencies: ['services'] },
);
