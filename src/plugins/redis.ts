/** Connects to Redis if `REDIS_URL` is set, so that all replicas share limits. Contract section 5. */
import fp from 'fastify-plugin';
import { RedisLink } from '../limits/redis-link.ts';

declare module 'fastify' {
  interface FastifyInstance {
    redis: RedisLink | null;
  }
}

export default fp(
  async (app) => {
    const { redisUrl } = app.config;
    const link = redisUrl === undefined ? null : new RedisLink(redisUrl, app.log);
    app.decorate('redis', link);
    if (link === null) return;
    app.addHook('onReady', () => link.start());
    app.addHook('onClose', async () => link.stop());
  },
  { name: 'redis', dependencies: ['services'] },
);
