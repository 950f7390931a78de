// Reliability test 21: CORS alone does not prevent execution, so a foreign page is refused before any work is done.
import t from 'tap';
import { corsHeaders, FOREIGN, from, PAGE, pageCalls, pageKey, variesByOrigin } from '../support/cors.ts';
import { onEachDatabase, plansFile } from '../support/service.ts';
import { startUpstream } from '../support/upstream/client.ts';

const upstream = await startUpstream();
t.teardown(() => upstream.stop());
const upstreams = {
  CHAT_URL: upstream.url,
  IMAGES_URL: upstream.url,
  EMBEDDINGS_URL: upstream.url,
  SEARCH_URL: upstream.searchUrl,
};

onEachDatabase(t, { ...upstreams, ...plansFile(t) }, async (t, { client }) => {
  await t.test(
    '21: a foreign origin is refused before any scope check, rate limit, charge, or engine call',
    async (t) => {
      const { key, owner } = await pageKey(client);
      await upstream.reset();
      const remaining = async () => {
        const { body, headers } = await client.get('/usage', { key });
        return { used: body.used, remaining: Number(headers.get('ratelimit-remaining')) };
      };
      const before = await remaining();
      const narrow = await client.createKey(owner, { allowed_origins: [PAGE], scopes: ['usage'] });
      for (const origin of [FOREIGN, 'null', `${PAGE}:8443`, 'http://app.example.com', '']) {
        for (const [method, path, body] of pageCalls) {
          for (const one of [key, narrow.key]) {
            const answer = await client.request(method, path, { body, key: one, ...from(origin) });
            t.match(
              answer,
              { status: 403, body: { error: { code: 'originNotAllowed' } } },
              `${path} ${origin}`,
            );
            t.same(corsHeaders(answer), {});
            t.ok(variesByOrigin(answer));
            t.ok(
              answer.headers.get('ratelimit-remaining'),
              'the response includes the rate limits of the account',
            );
          }
        }
      }
      // Invalid bodies are not parsed either.
      t.equal((await client.request('POST', '/chat', { raw: '{"', key, ...from(FOREIGN) })).status, 403);
      t.same(await upstream.calls().then(({ last }) => last), [], 'no engine was called');
      t.same(await remaining(), { used: before.used, remaining: before.remaining - 1 });
    },
  );

  await t.test(
    "21: a key without allowed origins works only without Origin and from the service's own origin",
    async (t) => {
      const { key } = await client.createKey(await client.signUp());
      t.equal((await client.get('/usage', { key, ...from(PAGE) })).body.error.code, 'originNotAllowed');
      t.equal((await client.get('/usage', { key, ...from(client.origin) })).status, 200);
      t.equal((await client.get('/usage', { key })).status, 200);
    },
  );

  await t.test(
    'a session gets no CORS headers on caller endpoints, and cross-site requests are refused',
    async (t) => {
      const { owner } = await pageKey(client);
      const { cookie } = owner;
      for (const [method, path, body] of pageCalls) {
        const answer = await client.request(method, path, { body, cookie, ...from(PAGE) });
        const expected = method === 'GET' ? 200 : 403;
        t.equal(answer.status, expected, `${method} ${path}`);
        if (expected === 403) t.equal(answer.body.error.code, 'crossSiteRequest');
        t.same(corsHeaders(answer), {});
        t.ok(variesByOrigin(answer));
      }
      t.match((await client.get('/usage', { cookie })).body.used, { chat: 0, images: 0, search: 0 });
    },
  );

  await t.test('a page can continue conversations whose ids it knows, but cannot list any', async (t) => {
    const { key, owner } = await pageKey(client);
    const first = await client.post('/chat', { message: 'Hi' }, { key, ...from(PAGE) });
    const conversation_id = first.body.conversation_id;
    const second = await client.post('/chat', { message: 'And?', conversation_id }, { key, ...from(PAGE) });
    t.equal(second.body.conversation_id, conversation_id);
    const path = `/conversations/${conversation_id}`;
    t.equal((await client.get(path, { key, ...from(PAGE) })).body.messages.length, 4);
    for (const options of [from(PAGE), from(client.origin), {}])
      t.match(await client.get('/conversations', { key, ...options }), {
        status: 403,
        body: { error: { code: 'listingNotAllowed' } },
      });

    const other = await client.createKey(owner, { allowed_origins: [PAGE] });
    t.equal((await client.get(path, { key: other.key, ...from(PAGE) })).status, 404);
    const continued = await client.post(
      '/chat',
      { message: 'Hi', conversation_id },
      { key: other.key, ...from(PAGE) },
    );
    t.equal(continued.status, 404);
    t.equal((await client.delete(path, { key: other.key, ...from(PAGE) })).status, 404);
    t.equal((await client.delete(path, { key, ...from(PAGE) })).status, 204);
  });
});
