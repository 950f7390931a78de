/** Limits unauthenticated requests by IP address, except for cacheable files. Contract section 5. */
import fp from 'fastify-plugin';

declare module 'fastify' {
  interface FastifyContextConfig {
    /**
     * A static file, which is not counted. Browsers cache it, one page loads dozens, and many people may share an
     * address. A flood only costs bandwidth, which a reverse proxy must limit.
     */
    isAsset?: true;
  }
}

export default fp(
  async (app) => {
    app.addHook('onRequest', async (request) => {
      if (!request.routeOptions.config.isAsset) await app.limits.countPage(request);
    });
  },
  { name: 'page-limit', dependencies: ['rate-limit'] },
);
