// A route for callers must declare which keys may call it.
import fastify, { type FastifyContextConfig } from 'fastify';
import fp from 'fastify-plugin';
import t from 'tap';
import callerGuard from '../../src/plugins/caller-guard.ts';

/** Registers a route in a guarded scope. */
async function start(config: FastifyContextConfig): Promise<void> {
  const app = fastify();
  for (const name of ['services', 'rate-limit']) app.register(fp(async () => {}, { name }));
  app.register(async (scope) => {
    scope.register(callerGuard, { keyLookup: undefined as never });
    scope.register(async (routes) => {
      routes.get('/things', { config }, async () => ({}));
    });
  });
  await app.ready();
  await app.close();
}

t.test('a route without config.scope aborts startup', async (t) => {
  await t.rejects(start({}), /\/things needs config\.scope/);
});

t.test('a route that declares a scope is registered', async (t) => {
  await t.resolves(start({ scope: 'chat' }));
});
