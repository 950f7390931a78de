/** Limits unauthenticated requests by address, except for cacheable files. Contract section 5. */
import fp from 'fastify-plugin';

declare module 'fastify' {
  interface FastifyContextConfig {
    /**
     * A static file, not counted: browsers cache it, one page loads dozens, and many people may share an address. A
     * flood costs only bandwidth, which a reverse proxy must limit.
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
