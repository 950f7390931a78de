/** Limits concurrent metered calls and streams per account. Contract section 7. */
import fp from 'fastify-plugin';
import { Calls } from '../limits/calls.ts';
import { RedisCalls } from '../limits/redis-calls.ts';
import { WorkerCalls } from '../workers/shared-limits.ts';

declare module 'fastify' {
  interface FastifyInstance {
    calls: Calls;
  }
}

export default fp(
  async (app) => {
    const { callsPerAccount: calls, streamsPerAccount: streams } = app.config;
    const inRedis = app.redis === null ? [] : [new RedisCalls(app.redis)];
    const ofWorkers = app.membership === null ? [] : [new WorkerCalls(app.membership.primary)];
    app.decorate('calls', new Calls({ calls, streams }, ...ofWorkers, ...inRedis));
    app.addHook('onClose', async () => {
      for (const calls of inRedis) calls.stop();
    });
  },
  { name: 'calls', dependencies: ['services', 'redis'] },
);
