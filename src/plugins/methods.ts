/** Returns 405 with `Allow` for an unsupported method on a known path, including `TRACE`. Contract section 6. */
import type { FastifyContextConfig, RouteOptions } from 'fastify';
import fp from 'fastify-plugin';
import router from 'find-my-way';
import { ApiError } from '../errors.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    isMethodFallback?: true;
  }
}

/** The known paths, such as `/api/v1/keys/:id`, and their methods. */
export class KnownPaths {
  readonly methodsOf = new Map<string, Set<string>>();
  readonly #routes = new Map<string, RouteOptions>();
  readonly #router = router();

  add(route: RouteOptions): void {
    const { method, url } = route;
    if (!this.#routes.has(url)) this.#router.on('GET', url, () => {}, url);
    this.#routes.set(url, route);
    const methods = this.methodsOf.get(url) ?? new Set();
    for (const one of [method].flat()) methods.add(one);
    this.methodsOf.set(url, methods);
  }

  /** Reads the route on demand, because guards set `access` after it was added. */
  accessOf(url: string): FastifyContextConfig['access'] {
    return this.#routes.get(url)?.config?.access;
  }

  /** The known path that matches a request's path, regardless of its method. */
  match(path: string): string | undefined {
    return this.#router.find('GET', path)?.store as string | undefined;
  }
}

type Options = { paths: KnownPaths };

/** Records the methods of each path. Register it before the routes. */
export const methodRegister = fp<Options>(
  async (app, { paths }) => {
    // No route supports QUERY. Otherwise Fastify requires its `Content-Type` before it looks for a route.
    app.addHttpMethod('QUERY', { overrideExisting: true });
    app.addHook('onRoute', (route) => {
      const { config, method } = route;
      // `@fastify/cors` registers OPTIONS for every possible path and returns 404.
      const isCatchAll = method === 'OPTIONS' && config?.access === undefined;
      if (!config?.isMethodFallback && !isCatchAll) paths.add(route);
    });
  },
  { name: 'method-register', dependencies: ['errors'] },
);

export const methodNotAllowed = ({ methodsOf }: KnownPaths, url: string): ApiError =>
  new ApiError('methodNotAllowed', { allowedMethods: [...(methodsOf.get(url) ?? [])] });

/**
 * Handles the methods that Fastify routes, on every known path. Register it after the routes. The 404 handler covers
 * two dozen others, such as `PROPFIND`, with `match`: routes for each of them on each path would use 6 MB.
 */
export const methodFallbacks = fp<Options>(
  async (app, { paths }) => {
    for (const [url, methods] of [...paths.methodsOf]) {
      const access = paths.accessOf(url);
      app.route({
        url,
        method: app.supportedMethods.filter((method) => !methods.has(method)),
        config: { isMethodFallback: true, ...(access && { access }) },
        schema: { hide: true },
        onRequest: async () => {
          throw methodNotAllowed(paths, url);
        },
        handler: () => {},
      });
    }
  },
  { name: 'method-fallbacks', dependencies: ['method-register'] },
);
