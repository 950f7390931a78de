/**
 * Limits what anybody may ask without a credential, by address: every route of the scope but files that browsers keep.
 * Contract section 5.
 */
import fp from 'fastify-plugin';

declare module 'fastify' {
  interface FastifyContextConfig {
    /**
     * A file that pages load. It is not counted: browsers cache it, one page loads dozens, and many people may share an
     * address. It streams from the disk, so a flood costs bandwidth, which only a reverse proxy can limit.
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
