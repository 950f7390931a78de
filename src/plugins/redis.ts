/** The connection to Redis, where `REDIS_URL` names one: limits are then shared by all replicas. Contract section 5. */
import fp from 'fastify-plugin';
import { RedisLink } from '../limits/redis-link.ts';

declare module 'fastify' {
  interface FastifyInstance {
    /** Null where limits are counted in this process alone. */
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
