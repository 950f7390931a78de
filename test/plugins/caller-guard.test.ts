// A route for callers says which keys may call it, or the service does not start.
import fastify, { type FastifyContextConfig } from 'fastify';
import fp from 'fastify-plugin';
import t from 'tap';
import callerGuard from '../../src/plugins/caller-guard.ts';

/** Registers a route in a guarded scope. */
async function start(config: FastifyContextConfig): Promise<void> {
  const app = fastify();
  for (const name of ['services', 'rate-limit']) app.register(fp(async () => {}, { name }));
  app.register(async (scope) => {
    scope.register(callerGuard);
    scope.register(async (routes) => {
      routes.get('/things', { config }, async () => ({}));
    });
  });
  await app.ready();
  await app.close();
}

t.test('a route without config.scope: the service does not start', async (t) => {
  await t.rejects(start({}), /\/things needs config\.scope/);
});

t.test('a route with a scope, or for any key, is registered', async (t) => {
  await t.resolves(start({ scope: 'chat' }));
  await t.resolves(start({ takesAnyKey: true }));
});
