/** Connects to Redis if `REDIS_URL` is set, so that all replicas share limits. Contract section 5. */
import type { FastifyBaseLogger } from 'fastify';
import fp from 'fastify-plugin';
import type { RedisLink } from '../limits/redis-link.ts';

/** Loads the client only if it is used. The plugin connects it. */
export async function openRedis(
  url: string | undefined,
  log: FastifyBaseLogger,
): Promise<RedisLink | undefined> {
  if (url === undefined) return undefined;
  const { RedisLink } = await import('../limits/redis-link.ts');
  return new RedisLink(url, log);
}

export default fp<{ redis: RedisLink | undefined }>(
  async (app, { redis }) => {
    if (redis === undefined) return;
    app.addHook('onReady', () => redis.start());
    app.addHook('onClose', async () => redis.stop());
  },
  { name: 'redis', dependencies: ['services'] },
);
