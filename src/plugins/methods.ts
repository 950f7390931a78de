/** Returns 405 with `Allow` for an unsupported method on a known path, including `TRACE`. Contract section 6. */
import type { FastifyInstance, RouteOptions } from 'fastify';
import fp from 'fastify-plugin';
import router from 'find-my-way';
import { ApiError } from '../errors.ts';

declare module 'fastify' {
  interface FastifyInstance {
    methodsOf: Map<string, Set<string>>;
    accessOf(url: string): FastifyContextConfig['access'];
    /** The route of a path, such as `/api/v1/keys/:id`, regardless of its methods. */
    routeAt(path: string): string | undefined;
  }
  interface FastifyContextConfig {
    isMethodFallback?: true;
  }
}

/** Records the methods of each path. Register it before the routes. */
export const methodRegister = fp(
  async (app) => {
    // No route supports QUERY. Otherwise Fastify requires its `Content-Type` before it looks for a route.
    app.addHttpMethod('QUERY', { overrideExisting: true });
    const routes = new Map<string, RouteOptions>();
    const paths = router();
    app.decorate('routeAt', (path) => paths.find('GET', path)?.store as string | undefined);
    app.decorate('methodsOf', new Map());
    // Read the route on demand, because guards set `access` after this hook.
    app.decorate('accessOf', (url) => routes.get(url)?.config?.access);
    app.addHook('onRoute', (route) => {
      const { config, method, url } = route;
      // `@fastify/cors` registers OPTIONS for every possible path and returns 404.
      const isCatchAll = method === 'OPTIONS' && config?.access === undefined;
      if (config?.isMethodFallback || isCatchAll) return;
      if (!routes.has(url)) paths.on('GET', url, () => {}, url);
      routes.set(url, route);
      const methods = app.methodsOf.get(url) ?? new Set();
      for (const one of [method].flat()) methods.add(one);
      app.methodsOf.set(url, methods);
    });
  },
  { name: 'method-register', dependencies: ['errors'] },
);

export const methodNotAllowed = ({ methodsOf }: FastifyInstance, url: string): ApiError =>
  new ApiError('methodNotAllowed', { allowedMethods: [...(methodsOf.get(url) ?? [])] });

/**
 * Handles the methods that Fastify routes, on every known path. Register it after the routes. The 404 handler covers
 * two dozen others, such as `PROPFIND`, with `routeAt`: routes for each of them on each path would use 6 MB.
 */
export const methodFallbacks = fp(
  async (app) => {
    for (const [url, methods] of [...app.methodsOf]) {
      const access = app.accessOf(url);
      app.route({
        url,
        method: app.supportedMethods.filter((method) => !methods.has(method)),
        config: { isMethodFallback: true, ...(access && { access }) },
        schema: { hide: true },
        onRequest: async () => {
          throw methodNotAllowed(app, url);
        },
        handler: () => {},
      });
    }
  },
  { name: 'method-fallbacks', dependencies: ['method-register'] },
);
