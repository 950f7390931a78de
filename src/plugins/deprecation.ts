/**
 * What is to go says so on every answer, errors and streams included: `deprecation` in a route's schema is enough. It is
 * marked in `openapi.json`, too. Contract section 12.
 */
import fp from 'fastify-plugin';
import {
  type Announcement,
  announcementOf,
  type Deprecation,
  deprecationHeaders,
} from '../domain/deprecation.ts';

declare module 'fastify' {
  interface FastifySchema {
    /** Set where the operation is to go. */
    deprecation?: Deprecation;
  }
  interface FastifyContextConfig {
    /** From the schema's `deprecation`. */
    announcement?: Announcement;
  }
}

export default fp(
  async (app) => {
    app.addHook('onRoute', (route) => {
      const { method, schema, url } = route;
      if (schema?.deprecation === undefined) {
        // The HEAD of a GET comes with what was made of that.
        if (schema?.deprecated && route.config?.announcement === undefined)
          throw new Error(`${method} ${url} is deprecated: say since when in the schema's deprecation.`);
        return;
      }
      const { deprecation, ...others } = schema;
      route.schema = { ...others, deprecated: true };
      route.config = { ...route.config, announcement: announcementOf(deprecation) };
    });

    app.addHook('onRequest', async (request, reply) => {
      const { announcement } = request.routeOptions.config ?? {};
      if (announcement !== undefined) reply.headers(deprecationHeaders(announcement));
    });
  },
  { name: 'deprecation' },
);
