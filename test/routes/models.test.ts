import t from 'tap';
import type { OpenApi } from '../support/http.ts';
import { onEachDatabase } from '../support/service.ts';

onEachDatabase(t, {}, async (t, { app, client }) => {
  const owner = await client.signUp();
  const { key } = await client.createKey(owner, { scopes: ['models'] });
  const unknown = {
    status: 404,
    body: { error: { code: 'notFound', type: 'not_found_error', param: 'model' } },
  };

  await t.test("GET /models 200: returns a list in OpenAI's format with the built-in model", async (t) => {
    const { body, status } = await client.get('/models', { key });
    t.equal(status, 200);
    t.match(body, { object: 'list', data: [{ id: 'parley-builtin', object: 'model', owned_by: 'parley' }] });
    t.same(
      (await client.get('/models', { cookie: owner.cookie })).body,
      body,
      'a web session gets the same list',
    );
  });

  await t.test('GET /models/{id} 200: returns the model', async (t) => {
    t.match(await client.get('/models/parley-builtin', { key }), {
      status: 200,
      body: { id: 'parley-builtin', object: 'model' },
    });
  });

  await t.test('GET /models/{id} 404 notFound: an unknown model, with param "model"', async (t) => {
    for (const path of [
      '/models/gpt-4o',
      '/models/org/name',
      '/models/org%2Fname',
      '/models/a/b/c/',
      '/models/constructor',
    ]) {
      t.match(await client.get(path, { key }), unknown, path);
    }
  });

  await t.test('GET /models/{id} 200: accepts an ID with slashes, encoded or not', async (t) => {
    const { chat } = app.engines;
    const { models } = chat;
    t.teardown(() => {
      chat.models = models;
    });
    const id = 'accounts/org/models/name:free';
    chat.models = async () => [{ id, object: 'model', created: 1, owned_by: 'org' }];
    for (const path of [`/models/${id}`, `/models/${encodeURIComponent(id)}`]) {
      t.match(await client.get(path, { key }), { status: 200, body: { id } }, path);
      t.match(await client.get(`${path}?verbose=true`, { key }), {
        status: 400,
        body: { error: { code: 'invalidRequest', param: 'verbose' } },
      });
    }
  });

  await t.test(
    'GET /models 401 and 403: no credential, or no scope, for IDs with and without slashes',
    async (t) => {
      const { key: other } = await client.createKey(owner, { scopes: ['chat', 'search'] });
      for (const path of ['/models', '/models/parley-builtin', '/models/org/name']) {
        t.match(
          await client.get(path),
          { status: 401, body: { error: { code: 'missingCredentials' } } },
          path,
        );
        t.match(
          await client.get(path, { key: other }),
          { status: 403, body: { error: { code: 'insufficientScope' } } },
          path,
        );
      }
    },
  );

  await t.test('openapi.json documents /models/{id}, but not its wildcard route', async (t) => {
    const paths = Object.keys((app.swagger() as unknown as OpenApi).paths).filter((path) =>
      path.includes('/models'),
    );
    t.same(paths, ['/api/v1/models', '/api/v1/models/{id}']);
  });
});
