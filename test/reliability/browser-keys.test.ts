// Reliability test 68: a key with allowed origins is public. A copy of it must not reveal conversations of others.
import t from 'tap';
import type { OpenApi } from '../support/http.ts';
import { onEachDatabase } from '../support/service.ts';

const PAGE = 'https://app.example.com';

onEachDatabase(t, {}, async (t, { app, client }) => {
  const owner = await client.signUp();
  const { id: keyId, key } = await client.createKey(owner, { allowed_origins: [PAGE] });
  const from = (origin: string) => ({ headers: { origin } });
  const begun = await client.post('/chat', { message: 'Hi' }, { key, ...from(PAGE) });
  const { conversation_id: id } = begun.body;

  await t.test(
    '68: GET /conversations: 403 listingNotAllowed for a key with allowed origins, whatever the Origin',
    async (t) => {
      const refused = { status: 403, body: { error: { code: 'listingNotAllowed' } } };
      for (const options of [{}, from(PAGE), from(client.origin)]) {
        t.match(await client.get('/conversations', { key, ...options }), refused);
        t.match(await client.get('/conversations?limit=1', { key, ...options }), refused);
      }
      const head = await fetch(`${client.origin}/api/v1/conversations`, {
        method: 'HEAD',
        headers: { authorization: `Bearer ${key}` },
      });
      t.equal(head.status, 403);
      const readable = await client.get('/conversations', { key, ...from(PAGE) });
      t.equal(readable.headers.get('access-control-allow-origin'), PAGE, 'the page can read the error');
      const foreign = await client.get('/conversations', { key, ...from('https://evil.example') });
      t.match(foreign, { status: 403, body: { error: { code: 'originNotAllowed' } } });
    },
  );

  await t.test(
    '68: a key with allowed origins reads, continues, and deletes a conversation by its id',
    async (t) => {
      t.equal((await client.get(`/conversations/${id}`, { key })).body.messages.length, 2);
      const next = await client.post('/chat', { message: 'And?', conversation_id: id }, { key });
      t.equal(next.body.conversation_id, id);
      const unknown = '01932f5e-7c1a-7b3e-9d2f-3a5b7c9d1e0f';
      t.equal((await client.get(`/conversations/${unknown}`, { key })).status, 404);
      t.equal((await client.delete(`/conversations/${unknown}`, { key })).status, 404);
    },
  );

  await t.test('68: GET /conversations is the only paginated list that a key may call', async (t) => {
    const document = app.swagger() as unknown as OpenApi;
    const lists = Object.entries(document.paths).flatMap(([path, { get }]) => {
      const { parameters = [], security } = (get ?? {}) as { parameters?: object[]; security?: object[] };
      const takesKeys = (security ?? []).some((one) => 'apiKey' in one);
      return takesKeys && JSON.stringify(parameters).includes('Cursor') && !path.includes('{') ? [path] : [];
    });
    t.same(lists, ['/api/v1/conversations']);
  });

  await t.test(
    '68: a change of allowed origins takes effect immediately: without origins, the key may list conversations again',
    async (t) => {
      const change = (origins: string[]) =>
        client.patch(`/keys/${keyId}`, { allowed_origins: origins }, { cookie: owner.cookie });
      t.equal((await change([])).status, 200);
      t.match(await client.get('/conversations', { key }), { status: 200, body: { data: [{ id }] } });
      await change([PAGE]);
      t.equal((await client.get('/conversations', { key })).status, 403);
      t.match(await client.get('/conversations', { cookie: owner.cookie }), {
        status: 200,
        body: { data: [{ id }] },
      });
      t.equal((await client.delete(`/conversations/${id}`, { key })).status, 204);
    },
  );
});
