/** A known path with a method it does not take answers 405 with `Allow`, `TRACE` included. Contract section 6. */
import { METHODS } from 'node:http';
import fp from 'fastify-plugin';
import { ApiError } from '../errors.ts';

/** CONNECT never reaches a handler. */
const answerable = METHODS.filter((method) => method !== 'CONNECT');

declare module 'fastify' {
  interface FastifyInstance {
    /** The methods that every registered path takes. */
    methodsOf: Map<string, Set<string>>;
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
    app.decorate('methodsOf', new Map());
    app.addHook('onRoute', ({ config, method, url }) => {
      if (config?.isMethodFallback) return;
      const methods = app.methodsOf.get(url) ?? new Set();
      for (const one of [method].flat()) methods.add(one);
      app.methodsOf.set(url, methods);
    });
  },
  { name: 'method-register', dependencies: ['errors'] },
);

/** Gives every known path an answer for the methods it does not take. Registered after the routes. */
export const methodFallbacks = fp(
  async (app) => {
    for (const [url, methods] of [...app.methodsOf]) {
      const allow = [...methods].sort().join(', ');
      app.route({
        url,
        method: answerable.filter((method) => !methods.has(method)),
        config: { isMethodFallback: true },
        schema: { hide: true },
        handler: () => {
          throw new ApiError('methodNotAllowed', { headers: { allow } });
        },
      });
    }
  },
  { name: 'method-fallbacks', dependencies: ['method-register'] },
);
