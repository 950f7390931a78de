/** Connects to Redis if `REDIS_URL` is set, so that all replicas share limits. Contract section 5. */
import type { FastifyInstance } from 'fastify';
import fp from 'fastify-plugin';
import type { RedisLink } from '../limits/redis-link.ts';

declare module 'fastify' {
  interface FastifyInstance {
    redis: RedisLink | null;
  }
}

/** Loads the client only if it is used. */
async function connect({ config: { redisUrl }, log }: FastifyInstance): Promise<RedisLink | null> {
  if (redisUrl === undefined) return null;
  const { RedisLink } = await import('../limits/redis-link.ts');
  return new RedisLink(redisUrl, log);
}

export default fp(
  async (app) => {
    const link = await connect(app);
    app.decorate('redis', link);
    if (link === null) return;
    app.addHook('onReady', () => link.start());
    app.addHook('onClose', async () => link.stop());
  },
  { name: 'redis', dependencies: ['services'] },
);
