/** Limits concurrent metered calls and streams per account. Contract section 7. */
import fp from 'fastify-plugin';
import type { Config } from '../config.ts';
import { Calls } from '../limits/calls.ts';
import { RedisCalls } from '../limits/redis-calls.ts';
import type { RedisLink } from '../limits/redis-link.ts';
import type { Membership } from '../workers/membership.ts';
import { WorkerCalls } from '../workers/shared-limits.ts';

/** The plugin stops them. */
export function createCalls(
  { callsPerAccount: calls, streamsPerAccount: streams }: Config,
  membership: Membership | undefined,
  redis: RedisLink | undefined,
): Calls {
  const ofWorkers = membership === undefined ? [] : [new WorkerCalls(membership.primary)];
  const inRedis = redis === undefined ? [] : [new RedisCalls(redis)];
  return new Calls({ calls, streams }, ...ofWorkers, ...inRedis);
}

export default fp<{ calls: Calls }>(
  async (app, { calls }) => {
    app.addHook('onClose', async () => calls.stop());
  },
  { name: 'calls', dependencies: ['services', 'redis'] },
);
