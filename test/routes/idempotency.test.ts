// Idempotent retries. Contract section 10, reliability tests 39 and 40. Crashes: test/reliability/retries.long.test.ts.
import { createHash, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { sql } from 'drizzle-orm';
import t from 'tap';
import { rowsOf } from '../../src/database/client.ts';
import { shiftClock } from '../support/clock.ts';
import { openStream, type ServerEvent } from '../support/event-reader.ts';
import type { Answer, RequestOptions } from '../support/http.ts';
import { metered } from '../support/metered.ts';
import { databaseKinds, plansFile, startTestService } from '../support/service.ts';
import { lastCharge } from '../support/spending.ts';
import { MODEL, startUpstream } from '../support/upstream/client.ts';
import { eventually } from '../support/upstream/engine.ts';

const upstream = await startUpstream();
t.teardown(() => upstream.stop());

const retryKey = (value: string = randomUUID()) => ({ 'idempotency-key': value });
const messages = [{ role: 'user', content: 'Hello' }];

const isReplay = ({ headers }: Pick<Answer, 'headers'>) => headers.get('idempotency-replayed') === 'true';
const textOf = (events: ServerEvent[]) => events.map(({ data }) => data.text ?? '').join('');

for (const kind of databaseKinds) {
  t.test(kind, async (t) => {
    t.beforeEach(() => upstream.reset());
    const service = await startTestService(t, kind, {
      ...plansFile(t, { chat: 1000, images: 10, search: 10, embeddings: 10 }),
      CHAT_URL: upstream.url,
    });
    const { client, database } = service;
    const owner = await client.signUp();
    const { cookie } = owner;
    const { key } = await client.createKey(owner);
    const usedChat = async () => (await client.get('/usage', { key })).body.used.chat;
    const calls = async () => (await upstream.calls()).chat;

    /** Retries a request until it is no longer in progress. */
    async function settledAnswer(path: string, body: unknown, options: RequestOptions): Promise<Answer> {
      for (let tries = 0; tries < 100; tries += 1) {
        const answer = await client.post(path, body, options);
        if (answer.status !== 409) return answer;
        await sleep(50);
      }
      throw new Error('The request is still in progress after 5 s.');
    }

    await t.test(
      'every metered endpoint replays the first response to a retry without a charge',
      async (t) => {
        const several = { path: '/chat/completions', body: { messages, n: 2 }, meter: 'chat' };
        const requests = [...metered.map(({ body, ...rest }) => ({ ...rest, body: body('Hello') })), several];
        for (const { body, path } of requests) {
          const headers = retryKey();
          const first = await client.post(path, body, { key, headers });
          t.equal(first.status, 200, path);
          t.notOk(isReplay(first));
          const { used } = (await client.get('/usage', { key })).body;
          const again = await client.post(path, body, { key, headers });
          t.equal(again.status, 200);
          t.ok(isReplay(again));
          t.equal(again.text, first.text, 'byte for byte');
          t.equal(again.headers.get('content-type'), first.headers.get('content-type'));
          t.same((await client.get('/usage', { key })).body.used, used);
        }
        t.equal(await calls(), requests.filter(({ meter }) => meter === 'chat').length);
      },
    );

    await t.test(
      'requests that differ only in the order of JSON members, at any depth, are the same request',
      async (t) => {
        const content = [{ type: 'text', text: 'Hello' }];
        const bodies = [
          { messages: [{ role: 'user', content }], temperature: 0.5, metadata: { a: '1', b: '2' } },
          {
            metadata: { b: '2', a: '1' },
            temperature: 0.5,
            messages: [{ content: [{ text: 'Hello', type: 'text' }], role: 'user' }],
          },
        ];
        const headers = retryKey();
        const [first, again] = [
          await client.post('/chat/completions', bodies[0], { key, headers }),
          await client.post('/chat/completions', bodies[1], { key, headers }),
        ];
        t.equal(first.status, 200);
        t.equal(again.status, 200);
        t.ok(isReplay(again));
        t.equal(again.text, first.text);
        // The order of an array matters.
        const reversed = { ...bodies[0], messages: [...messages, { role: 'user', content }] };
        t.match(await client.post('/chat/completions', reversed, { key, headers }), { status: 422 });
      },
    );

    await t.test('a retry matches a key stored by an earlier version', async (t) => {
      const headers = retryKey();
      const body = { message: 'Hello', instructions: 'Be brief.', stream: false, store: true };
      const first = await client.post('/chat', body, { key, headers });
      t.equal(first.status, 200);
      const stored = createHash('sha256')
        .update(`POST /api/v1/chat\n${JSON.stringify(body)}`)
        .digest('hex');
      await database.db.execute(
        sql`UPDATE idempotency_keys SET fingerprint = ${stored} WHERE key = ${headers['idempotency-key']}`,
      );
      const again = await client.post('/chat', body, { key, headers });
      t.equal(again.status, 200);
      t.ok(isReplay(again));
      const other = { ...body, message: 'Good-bye' };
      t.match(await client.post('/chat', other, { key, headers }), { status: 422 });
    });

    await t.test(
      '39: of 50 concurrent requests with one key and body, one runs and is charged',
      async (t) => {
        await upstream.configure({ headersDelayMs: 1000 });
        const before = await usedChat();
        const headers = retryKey();
        const answers = await Promise.all(
          Array.from({ length: 50 }, () => client.post('/chat', { message: 'Hello' }, { key, headers })),
        );
        // On a slow machine, some requests arrive after the first one has completed.
        const first = answers.filter((answer) => answer.status === 200 && !isReplay(answer));
        t.equal(first.length, 1);
        const others = answers.filter((answer) => answer.status !== 200);
        t.ok(others.length > 0);
        t.ok(
          others.every(({ body, status }) => status === 409 && body.error.code === 'idempotencyInProgress'),
        );
        t.ok(others.every((answer) => answer.headers.get('retry-after') === '1'));
        t.equal(await calls(), 1);
        t.equal(await usedChat(), before + 1);
      },
    );

    await t.test('39: another body or endpoint is rejected, even while the first request runs', async (t) => {
      await upstream.configure({ headersDelayMs: 300 });
      const before = await usedChat();
      const headers = retryKey();
      const first = client.post('/chat', { message: 'Hello' }, { key, headers });
      await eventually('the first request is in flight', async () => (await calls()) === 1);
      const mismatch = {
        status: 422,
        body: { error: { code: 'idempotencyMismatch', param: 'idempotency-key' } },
      };
      t.match(await client.post('/chat', { message: 'Other' }, { key, headers }), mismatch);
      t.equal((await first).status, 200);
      t.match(await client.post('/chat', { message: 'Other' }, { key, headers }), mismatch);
      t.match(await client.post('/search', { query: 'Hello' }, { key, headers }), mismatch);
      t.equal(await usedChat(), before + 1);
    });

    await t.test(
      '39: idempotency keys are separate for each account, each API key, and the web',
      async (t) => {
        const stranger = await client.createKey(await client.signUp());
        const other = await client.createKey(owner);
        const headers = retryKey();
        for (const credential of [{ key }, { key: stranger.key }, { key: other.key }, { cookie }]) {
          const answer = await client.post('/chat', { message: 'Hello' }, { ...credential, headers });
          t.equal(answer.status, 200);
          t.notOk(isReplay(answer));
        }
        t.equal(await calls(), 4);
      },
    );

    await t.test('a stream is replayed as a stream with start, one delta, and done', async (t) => {
      await upstream.configure({ chunks: 20 });
      const headers = retryKey();
      const body = { message: 'Hello', stream: true };
      const first = await client.post('/chat', body, { key, headers });
      const before = await usedChat();
      const again = await client.post('/chat', body, { key, headers });
      t.ok(isReplay(again));
      t.equal(again.headers.get('content-type'), 'text/event-stream; charset=utf-8');
      t.equal(again.headers.get('x-accel-buffering'), 'no');
      const events: ServerEvent[] = again.body;
      t.same(
        events.map(({ event }) => event),
        ['start', 'delta', 'done'],
      );
      t.same(events[0], first.body[0]);
      t.same(events[2], first.body.at(-1));
      t.equal(textOf(events), textOf(first.body));
      t.equal(await usedChat(), before);
      t.equal(await calls(), 1);
    });

    await t.test(
      'streamed completions are replayed with text, tool calls, finish reasons, and usage',
      async (t) => {
        const choice = (index: number, delta: object, finish: string | null = null) =>
          JSON.stringify({
            id: 'c1',
            object: 'chat.completion.chunk',
            created: 1,
            model: MODEL,
            choices: [{ index, delta, finish_reason: finish }],
          });
        const call = (index: number, part: object) => ({ tool_calls: [{ index, ...part }] });
        const usage = { prompt_tokens: 1, completion_tokens: 2, total_tokens: 3 };
        await upstream.configure({
          events: [
            choice(0, { role: 'assistant', content: 'Let me ' }),
            choice(1, { role: 'assistant', content: 'Hi' }),
            choice(0, { content: 'look.' }),
            choice(0, call(0, { id: 'a', type: 'function', function: { name: 'find', arguments: '{"q":' } })),
            choice(0, call(1, { id: 'b', type: 'function', function: { name: 'get', arguments: '{' } })),
            choice(0, call(0, { function: { arguments: '1}' } })),
            choice(0, call(1, { function: { arguments: '}' } })),
            choice(1, {}, 'stop'),
            choice(0, {}, 'tool_calls'),
            JSON.stringify({
              id: 'c1',
              object: 'chat.completion.chunk',
              created: 1,
              model: MODEL,
              choices: [],
              usage,
            }),
          ],
        });
        const headers = retryKey();
        const body = { messages, n: 2, stream: true, stream_options: { include_usage: true } };
        const first = await client.post('/chat/completions', body, { key, headers });
        t.equal(first.status, 200, first.text);
        const { body: events } = await client.post('/chat/completions', body, { key, headers });
        t.equal(events.length, 3);
        t.match(events[0].data.choices, [
          {
            index: 0,
            finish_reason: 'tool_calls',
            delta: {
              role: 'assistant',
              content: 'Let me look.',
              tool_calls: [
                { id: 'a', function: { name: 'find', arguments: '{"q":1}' } },
                { id: 'b', function: { name: 'get', arguments: '{}' } },
              ],
            },
          },
          { index: 1, finish_reason: 'stop', delta: { content: 'Hi' } },
        ]);
        t.match(events[1].data, { choices: [], usage });
        t.equal(events[2].data, '[DONE]');
        const withoutUsage = { messages, stream: true };
        await client.post('/chat/completions', withoutUsage, { key, headers: retryKey('plain') });
        const plain = await client.post('/chat/completions', withoutUsage, {
          key,
          headers: retryKey('plain'),
        });
        t.ok(isReplay(plain));
        t.equal(plain.body.length, 2);
      },
    );

    await t.test('a replay needs no quota and no conversation lookup', async (t) => {
      const small = await startTestService(t, kind, {
        ...plansFile(t, { chat: 2 }),
        CHAT_URL: upstream.url,
      });
      const caller = await small.client.signUp();
      const headers = retryKey();
      const begun = await small.client.post('/chat', { message: 'Hello' }, caller);
      const body = { message: 'And then?', conversation_id: begun.body.conversation_id };
      t.equal((await small.client.post('/chat', body, { ...caller, headers })).status, 200);
      t.equal((await small.client.post('/chat', body, { ...caller, headers: retryKey() })).status, 429);
      t.equal((await small.client.delete(`/conversations/${body.conversation_id}`, caller)).status, 204);
      const again = await small.client.post('/chat', body, { ...caller, headers });
      t.equal(again.status, 200);
      t.ok(isReplay(again));
    });

    await t.test('a rejected or refunded request releases its key', async (t) => {
      const headers = retryKey();
      await upstream.configure({ fault: 'status', status: 500 });
      for (const stream of [false, true]) {
        const failed = await client.post('/chat', { message: 'Hello', stream }, { key, headers });
        t.equal(failed.status, 502);
      }
      await upstream.reset();
      const before = await usedChat();
      const answer = await client.post('/chat', { message: 'Something else' }, { key, headers });
      t.equal(answer.status, 200);
      t.notOk(isReplay(answer));
      t.equal(await usedChat(), before + 1);

      const stranger = await client.signUp();
      const draw = (n: number) =>
        client.post('/images/generations', { prompt: 'A fox', n }, { ...stranger, headers });
      for (let n = 0; n < 2; n += 1)
        await client.post('/images/generations', { prompt: 'A fox', n: 4 }, stranger);
      t.match(await draw(4), { status: 429, body: { error: { code: 'quotaExceeded' } } });
      t.equal((await draw(2)).status, 200, 'even with another body');
    });

    await t.test(
      '40: a client that disconnects during a stream gets the whole reply on retry, and is charged once',
      async (t) => {
        await upstream.configure({ chunks: 10, chunkIntervalMs: 60 });
        const before = await usedChat();
        const headers = retryKey();
        const body = { message: 'Hello', stream: true };
        const arrived = once(service.app.server, 'request');
        const stream = await openStream(client, '/chat', body, { key, headers });
        const [request] = (await arrived) as [IncomingMessage];
        const start = await stream.next();
        await stream.next();
        const disconnected = once(request.socket, 'close');
        stream.leave();
        await disconnected;
        t.match(await client.post('/chat', body, { key, headers }), {
          status: 409,
          body: { error: { code: 'idempotencyInProgress' } },
        });
        const whole = await settledAnswer('/chat', body, { key, headers });
        t.ok(isReplay(whole));
        t.same(whole.body[0], start);
        t.equal(whole.body.at(-1).data.reply, textOf(whole.body));
        t.equal(whole.body.at(-1).data.reply.length, 40);
        t.equal(await usedChat(), before + 1);
        const { last } = await upstream.calls();
        t.equal(last.length, 1);
        t.notOk(last[0]?.abortedAt, 'the upstream request was not aborted');
        t.match(await lastCharge(service, owner.accountId), { state: 'final', status: 200 });
        const stored = await client.get(`/conversations/${start?.data.conversation_id}`, { key });
        t.equal(stored.body.messages.length, 2);
      },
    );

    await t.test('40: a client that disconnects before the response gets it on retry', async (t) => {
      await upstream.configure({ headersDelayMs: 400 });
      const before = await usedChat();
      const headers = { ...retryKey(), authorization: `Bearer ${key}`, 'content-type': 'application/json' };
      const leave = new AbortController();
      const body = JSON.stringify({ message: 'Hello' });
      const first = fetch(`${client.origin}/api/v1/chat`, {
        method: 'POST',
        headers,
        body,
        signal: leave.signal,
      });
      await eventually('the upstream has the request', async () => (await calls()) === 1);
      leave.abort();
      await t.rejects(first);
      const again = await settledAnswer(
        '/chat',
        { message: 'Hello' },
        { key, headers: retryKey(headers['idempotency-key']) },
      );
      t.equal(again.status, 200);
      t.ok(isReplay(again));
      t.equal(await calls(), 1);
      t.equal(await usedChat(), before + 1);
    });

    await t.test(
      'a stream interrupted by the upstream is final: a retry replays the partial reply and the error',
      async (t) => {
        for (const path of ['/chat', '/chat/completions']) {
          await upstream.reset();
          await upstream.configure({ chunks: 8, chunkIntervalMs: 30, fault: 'cut', faultAfter: 3 });
          const before = (await client.get('/usage', { key })).body.used;
          const headers = retryKey();
          const body = path === '/chat' ? { message: 'Hello', stream: true } : { messages, stream: true };
          const broken = await client.post(path, body, { key, headers });
          t.equal(broken.status, 200);
          const error = broken.body.at(-1);
          t.match(error.data, {
            error: { code: 'upstreamError', message: /remains charged/, charged: true },
          });
          await upstream.configure({ chunks: 8 });
          const again = await client.post(path, body, { key, headers });
          t.ok(isReplay(again));
          t.same(again.body.at(-1), error);
          t.notMatch(again.text, /DONE|done/);
          if (path === '/chat') t.equal(textOf(again.body), textOf(broken.body));
          else t.equal(again.body[0].data.choices[0].delta.content.length, 12);
          t.equal(await calls(), 1, 'the upstream receives no second request');
          const { used } = (await client.get('/usage', { key })).body;
          t.equal(used.chat, before.chat + 1, 'charged once');
          t.match(await lastCharge(service, owner.accountId), { state: 'final', status: 502 });
        }
      },
    );

    await t.test('store: false stores only the copy for the idempotency key', async (t) => {
      const headers = retryKey();
      const first = await client.post('/chat', { message: 'Secret', store: false }, { key, headers });
      t.equal(first.body.conversation_id, null);
      t.equal(
        (await client.post('/chat', { message: 'Secret', store: false }, { key, headers })).text,
        first.text,
      );
    });

    await t.test('an API key works as an Idempotency-Key, and is not stored', async (t) => {
      const headers = retryKey(key);
      const first = await client.post('/chat', { message: 'Hello' }, { key, headers });
      t.equal(first.status, 200);
      t.ok(isReplay(await client.post('/chat', { message: 'Hello' }, { key, headers })));
      const stored = await rowsOf(database.db, sql`select 1 from idempotency_keys where key = ${key}`);
      t.same(stored, []);
    });

    await t.test('400 invalidRequest: a key that is empty, too long, or not visible ASCII', async (t) => {
      const before = await usedChat();
      for (const value of ['', 'x'.repeat(256), 'a b', 'caf\u00e9']) {
        const answer = await client.post('/chat', { message: 'Hello' }, { key, headers: retryKey(value) });
        t.match(
          answer,
          { status: 400, body: { error: { code: 'invalidRequest', param: 'idempotency-key' } } },
          value.slice(0, 5),
        );
      }
      t.equal(
        (await client.post('/chat', { message: 'Hello' }, { key, headers: retryKey('x'.repeat(255)) }))
          .status,
        200,
      );
      t.equal(await usedChat(), before + 1);
    });

    await t.test('a key can be reused after 24 hours', async (t) => {
      const headers = retryKey();
      const first = await client.post('/chat', { message: 'Hello' }, { key, headers });
      await shiftClock(database.db, '23 hours 59 minutes');
      t.ok(isReplay(await client.post('/chat', { message: 'Hello' }, { key, headers })));
      await shiftClock(database.db, '24 hours 1 minute');
      const later = await client.post('/chat', { message: 'Other' }, { key, headers });
      t.equal(later.status, 200);
      t.notOk(isReplay(later));
      t.not(later.body.id, first.body.id);
    });
  });
}
