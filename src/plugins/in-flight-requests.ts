/** Makes `app.inFlight`, and waits at the end until nothing is in flight. Contract section 11. */
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
    // The connections have ended by then; what clients have left is still to be recorded.
    app.addHook('onClose', () => inFlight.idle());
  },
  { name: 'in-flight-requests', dependencies: ['services'] },
);
