/** A known path with a method it does not take answers 405 with `Allow`, `TRACE` included. Contract section 6. */
import { METHODS } from 'node:http';
import type { FastifyInstance, RouteOptions } from 'fastify';
import fp from 'fastify-plugin';
import { ApiError } from '../errors.ts';

/** CONNECT never reaches a handler. */
const answerable = METHODS.filter((method) => method !== 'CONNECT');

declare module 'fastify' {
  interface FastifyInstance {
    /** The methods that every registered path takes. */
    methodsOf: Map<string, Set<string>>;
    /** Who may call a registered path. */
    accessOf(url: string): FastifyContextConfig['access'];
  }
  interface FastifyContextConfig {
    /** A route that only answers 405: not among the methods that its path takes. */
    isMethodFallback?: true;
  }
}

/** Remembers which path takes which methods. Registered before the routes. */
export const methodRegister = fp(
  async (app) => {
    for (const method of answerable) if (!app.supportedMethods.includes(method)) app.addHttpMethod(method);
    const routes = new Map<string, RouteOptions>();
    app.decorate('methodsOf', new Map());
    // Guards set it after this hook has seen the route.
    app.decorate('accessOf', (url) => routes.get(url)?.config?.access);
    app.addHook('onRoute', (route) => {
      const { config, method, url } = route;
      // `@fastify/cors` takes OPTIONS of every path there could be, and answers that there is nothing.
      const isCatchAll = method === 'OPTIONS' && config?.access === undefined;
      if (config?.isMethodFallback || isCatchAll) return;
      routes.set(url, route);
      const methods = app.methodsOf.get(url) ?? new Set();
      for (const one of [method].flat()) methods.add(one);
      app.methodsOf.set(url, methods);
    });
  },
  { name: 'method-register', dependencies: ['errors'] },
);

/** The refusal of a method that a path does not take. */
export const methodNotAllowed = ({ methodsOf }: FastifyInstance, url: string): ApiError =>
  new ApiError('methodNotAllowed', { allowedMethods: [...(methodsOf.get(url) ?? [])] });

/** Gives every known path an answer for the methods it does not take. Registered after the routes. */
export const methodFallbacks = fp(
  async (app) => {
    for (const [url, methods] of [...app.methodsOf]) {
      const access = app.accessOf(url);
      app.route({
        url,
        method: answerable.filter((method) => !methods.has(method)),
        config: { isMethodFallback: true, ...(access && { access }) },
        schema: { hide: true },
        // Before the body is looked at, whatever it is.
        onRequest: async () => {
          throw methodNotAllowed(app, url);
        },
        handler: () => {},
      });
    }
  },
  { name: 'method-fallbacks', dependencies: ['method-register'] },
);
