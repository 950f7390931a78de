/** Announces a deprecation from a route's schema, in every response and in `openapi.json`. Contract section 12. */
import fp from 'fastify-plugin';
import {
  type Announcement,
  announcementOf,
  type Deprecation,
  deprecationHeaders,
} from '../domain/deprecation.ts';

declare module 'fastify' {
  interface FastifySchema {
    deprecation?: Deprecation;
  }
  interface FastifyContextConfig {
    announcement?: Announcement;
  }
}

export default fp(
  async (app) => {
    app.addHook('onRoute', (route) => {
      const { method, schema, url } = route;
      if (schema?.deprecation === undefined) {
        // A HEAD route derives from the processed GET route.
        if (schema?.deprecated && route.config?.announcement === undefined)
          throw new Error(`${method} ${url} is deprecated: say since when in the schema's deprecation.`);
        return;
      }
      const { deprecation, ...others } = schema;
      route.schema = { ...others, deprecated: true };
      route.config = { ...route.config, announcement: announcementOf(deprecation) };
    });

    app.addHook('onRequest', (request, reply, done) => {
      const { announcement } = request.routeOptions.config ?? {};
      if (announcement !== undefined) reply.headers(deprecationHeaders(announcement));
      done();
    });
  },
  { name: 'deprecation' },
);
