// Concurrent calls of an account, streamed or not. Contract section 7.
import { randomUUID } from 'node:crypto';
import t from 'tap';
import { openStream } from '../support/event-reader.ts';
import { meteredRequests } from '../support/metered.ts';
import { onEachDatabase } from '../support/service.ts';
import { startUpstream } from '../support/upstream/client.ts';
import { eventually } from '../support/upstream/engine.ts';

const upstream = await startUpstream();
t.teardown(() => upstream.stop());
t.beforeEach(() => upstream.reset());

const env = {
  CHAT_URL: upstream.url,
  IMAGES_URL: upstream.url,
  SEARCH_URL: upstream.searchUrl,
  EMBEDDINGS_URL: upstream.url,
  CALLS_PER_ACCOUNT: '2',
};

onEachDatabase(t, env, async (t, service) => {
  const { calls: slots, client } = service;
  const owner = await client.signUp();
  const { key } = await client.createKey(owner);
  const second = await client.createKey(owner);
  const messages = [{ role: 'user', content: 'Hi' }];
  const usage = async () => (await client.get('/usage', { key })).body.used;
  const waiting = async (calls: number) => (await upstream.calls()).open === calls;

  await t.test(
    '429 tooManyCalls: applies to every metered route, across all keys and the web, without a charge',
    async (t) => {
      await upstream.configure({ chunks: 1000, chunkIntervalMs: 50 });
      const stream = await openStream(client, '/chat', { message: 'Hi', stream: true }, { key });
      await upstream.configure({ fault: 'hang' });
      const leaving = new AbortController();
      const plain = fetch(`${client.origin}/api/v1/chat/completions`, {
        method: 'POST',
        headers: { authorization: `Bearer ${second.key}`, 'content-type': 'application/json' },
        body: JSON.stringify({ messages }),
        signal: leaving.signal,
      }).catch(() => undefined);
      await eventually('both calls are in flight', () => waiting(2));
      const before = await usage();
      for (const { body, path } of meteredRequests('Hi')) {
        for (const credentials of [{ key }, { key: second.key }, { cookie: owner.cookie }]) {
          const answer = await client.post(path, body, credentials);
          t.match(answer, {
            status: 429,
            body: { error: { code: 'tooManyCalls', type: 'rate_limit_error' } },
          });
          t.equal(answer.headers.get('retry-after'), '1');
        }
      }
      t.same(await usage(), before);
      t.ok(await waiting(2), 'the upstream receives no request');
      const stranger = await client.createKey(await client.signUp());
      await upstream.configure({});
      t.equal(
        (await client.post('/chat', { message: 'Hi' }, stranger)).status,
        200,
        'another account has its own limit',
      );
      stream.leave();
      leaving.abort();
      await plain;
      await eventually('the slots are released', async () => slots.taken === 0);
      t.equal((await client.post('/chat', { message: 'Hi' }, { key })).status, 200);
    },
  );

  await t.test('a slot is released after a reply, an upstream error, or a rejected request', async (t) => {
    for (const [settings, body, status] of [
      [{}, { message: 'Hi' }, 200],
      [{ fault: 'status', status: 500 }, { message: 'Hi' }, 502],
      [{}, { message: 'Hi', model: 'nope' }, 404],
    ] as const) {
      await upstream.configure(settings);
      for (let time = 0; time < 3; time += 1)
        t.equal((await client.post('/chat', body, { key })).status, status);
      t.equal(slots.taken, 0);
    }
  });

  await t.test(
    'with an Idempotency-Key, a disconnected client keeps its slot until the work ends',
    async (t) => {
      for (const stream of [true, false]) {
        await upstream.configure({ chunks: 3, headersDelayMs: 700 });
        const leaving = new AbortController();
        const headers = { 'idempotency-key': randomUUID() };
        const left = fetch(`${client.origin}/api/v1/chat`, {
          method: 'POST',
          headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...headers },
          body: JSON.stringify({ message: 'Hi', stream }),
          signal: leaving.signal,
        }).catch(() => undefined);
        await eventually('the call is in flight', () => waiting(1));
        leaving.abort();
        await left;
        t.equal(slots.taken, 1, 'the call keeps its slot');
        await eventually('the slot is released', async () => slots.taken === 0);
        t.ok(await waiting(0));
        const again = await client.post('/chat', { message: 'Hi', stream }, { key, headers });
        t.equal(again.headers.get('idempotency-replayed'), 'true');
      }
    },
  );
});
