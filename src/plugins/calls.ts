/** Limits concurrent metered calls and streams per account. Contract section 7. */
import fp from 'fastify-plugin';
import { Calls } from '../limits/calls.ts';
import { RedisCalls } from '../limits/redis-calls.ts';

declare module 'fastify' {
  interface FastifyInstance {
    calls: Calls;
  }
}

export default fp(
  async (app) => {
    const { callsPerAccount: calls, streamsPerAccount: streams } = app.config;
    const shared = app.redis === null ? undefined : new RedisCalls(app.redis);
    app.decorate('calls', new Calls({ calls, streams }, shared));
    app.addHook('onClose', async () => shared?.stop());
  },
  { name: 'calls', dependencies: ['services', 'redis'] },
);
