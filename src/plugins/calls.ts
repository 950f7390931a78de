/** Limits concurrent metered calls and streams per account. Contract section 7. */
import fp from 'fastify-plugin';
import { Calls } from '../limits/calls.ts';
import { RedisCalls } from '../limits/redis-calls.ts';
import type { RedisLink } from '../limits/redis-link.ts';
import type { Membership } from '../workers/membership.ts';
import { WorkerCalls } from '../workers/shared-limits.ts';

declare module 'fastify' {
  interface FastifyInstance {
    calls: Calls;
  }
}

export default fp<{ membership: Membership | undefined; redis: RedisLink | undefined }>(
  async (app, { membership, redis }) => {
    const { callsPerAccount: calls, streamsPerAccount: streams } = app.config;
    const inRedis = redis === undefined ? [] : [new RedisCalls(redis)];
    const ofWorkers = membership === undefined ? [] : [new WorkerCalls(membership.primary)];
    app.decorate('calls', new Calls({ calls, streams }, ...ofWorkers, ...inRedis));
    app.addHook('onClose', async () => {
      for (const calls of inRedis) calls.stop();
    });
  },
  { name: 'calls', dependencies: ['services', 'redis'] },
);
