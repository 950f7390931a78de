// Stopping requests on the process that runs them. Contract section 16. chat-cancel.long.test.ts covers replicas.
import { randomUUID } from 'node:crypto';
import t, { type Test } from 'tap';
import { type OpenStream, openStream, type ServerEvent } from '../support/event-reader.ts';
import { onEachDatabase } from '../support/service.ts';
import { lastCharge } from '../support/spending.ts';
import { MODEL, startUpstream } from '../support/upstream/client.ts';
import { eventually } from '../support/upstream/engine.ts';

const upstream = await startUpstream();
t.teardown(() => upstream.stop());
const slowStream = { chunks: 600, chunkIntervalMs: 50 };
const messages = [{ role: 'user', content: 'Hi' }];

/** Reads until the first text. Returns the request ID from the response header. */
async function begun(stream: OpenStream): Promise<string> {
  await stream.next();
  await stream.next();
  return stream.response.headers.get('x-request-id') ?? '';
}

const withinASecond = (t: Test, from: number, what: string) => {
  const tookMs = performance.now() - from;
  t.ok(tookMs < 1000, `${what} after ${Math.round(tookMs)} ms`);
};

onEachDatabase(t, { CHAT_URL: upstream.url }, async (t, service) => {
  const { client } = service;
  const owner = await client.signUp();
  const { key } = await client.createKey(owner);
  const { key: otherKey } = await client.createKey(owner);
  t.beforeEach(() => upstream.configure(slowStream));

  await t.test('POST /chat/:id/cancel 200: stops a /chat stream and stores the partial reply', async (t) => {
    const stream = await openStream(client, '/chat', { message: 'Hi', stream: true }, { key });
    const [start] = [await stream.next()];
    await stream.next();
    const { conversation_id, id } = start?.data ?? {};
    const from = performance.now();
    const answer = await client.post(`/chat/${id}/cancel`, undefined, { key });
    t.match(answer, { status: 200, body: { stopped: true } });
    withinASecond(t, from, 'stopped');
    const events = await stream.rest();
    const done = events.at(-1) as ServerEvent;
    t.match(done, { event: 'done', data: { id, stopped: true, finish_reason: 'stop' } });
    t.ok(done.data.usage.output_tokens > 0);
    await eventually('the upstream request ends', async () => (await upstream.calls()).open === 0, 1000);
    t.match(await lastCharge(service, owner.accountId), {
      ...{ state: 'final', status: 200, output_tokens: done.data.usage.output_tokens },
    });
    const { body: conversation } = await client.get(`/conversations/${conversation_id}`, { key });
    t.match(conversation.messages.at(-1), { role: 'assistant', content: done.data.reply, stopped: true });
    t.notOk('stopped' in conversation.messages[0]);
    const again = await client.post(`/chat/${id}/cancel`, undefined, { key });
    t.match(again, { status: 409, body: { error: { code: 'alreadyFinished' } } });
  });

  await t.test(
    "POST /chat/:id/cancel: the web can stop any key's requests, and a key only its own",
    async (t) => {
      const stream = await openStream(client, '/chat', { message: 'Hi', stream: true }, { key });
      const { id } = (await stream.next())?.data ?? {};
      const stranger = await client.createKey(await client.signUp());
      for (const credentials of [{ key: otherKey }, { key: stranger.key }])
        t.match(await client.post(`/chat/${id}/cancel`, undefined, credentials), { status: 404 });
      t.match(await client.post(`/chat/${randomUUID()}/cancel`, undefined, { key }), { status: 404 });
      t.match(await client.post(`/chat/${id}/cancel`, undefined, { cookie: owner.cookie }), { status: 200 });
      t.match((await stream.rest()).at(-1), { event: 'done', data: { stopped: true } });
    },
  );

  await t.test(
    'POST /chat/cancel 200: stops a request by its idempotency key before the first output',
    async (t) => {
      await upstream.configure({ headersDelayMs: 30_000 });
      for (const stream of [true, false]) {
        const idempotencyKey = randomUUID();
        const headers = { 'idempotency-key': idempotencyKey };
        const { chat: calls } = await upstream.calls();
        const asked = { message: 'Hi', stream };
        const answer = client.post('/chat', asked, { key, headers });
        await eventually('the upstream has the request', async () => (await upstream.calls()).chat > calls);
        const cancel = (value: string, credentials: { key: string }) =>
          client.post('/chat/cancel', { idempotency_key: value }, credentials);
        t.match(await cancel(idempotencyKey, { key: otherKey }), { status: 404 });
        t.match(await cancel(randomUUID(), { key }), {
          status: 404,
          body: { error: { param: 'idempotency_key' } },
        });
        const from = performance.now();
        t.match(await cancel(idempotencyKey, { key }), { status: 200, body: { stopped: true } });
        withinASecond(t, from, 'stopped');
        const { body, status } = await answer;
        t.equal(status, 200);
        const reply = stream ? body.at(-1).data : body;
        t.match(reply, { reply: '', stopped: true, usage: { output_tokens: 0 } });
        t.match(await lastCharge(service, owner.accountId), { state: 'final', status: 200 });
        const replay = await client.post('/chat', asked, { key, headers });
        t.equal(replay.headers.get('idempotency-replayed'), 'true');
        t.match(stream ? replay.body.at(-1).data : replay.body, reply);
        t.match(await cancel(idempotencyKey, { key }), { status: 409 });
      }
      t.match(await client.post('/chat/cancel', {}, { key }), { status: 400 });
    },
  );

  await t.test('a conversation continues after a reply was stopped before its first word', async (t) => {
    await upstream.configure({ headersDelayMs: 30_000 });
    const idempotencyKey = randomUUID();
    const { chat: calls } = await upstream.calls();
    const answer = client.post(
      '/chat',
      { message: 'Hi' },
      { key, headers: { 'idempotency-key': idempotencyKey } },
    );
    await eventually('the upstream has the request', async () => (await upstream.calls()).chat > calls);
    await client.post('/chat/cancel', { idempotency_key: idempotencyKey }, { key });
    const { conversation_id } = (await answer).body;
    await upstream.reset();
    const next = await client.post('/chat', { message: 'Again', conversation_id }, { key });
    t.match(next, { status: 200, body: { conversation_id } });
    const { body } = await client.get(`/conversations/${conversation_id}`, { key });
    t.same(
      body.messages.map(({ content, stopped = false }: { content: string; stopped?: boolean }) => [
        content,
        stopped,
      ]),
      [
        ['Hi', false],
        ['', true],
        ['Again', false],
        [next.body.reply, false],
      ],
    );
  });

  await t.test('stopped streams on other chat endpoints end in the format of their API', async (t) => {
    const completion = await openStream(client, '/chat/completions', { messages, stream: true }, { key });
    const completionId = await begun(completion);
    t.match(await client.post(`/chat/${completionId}/cancel`, undefined, { key }), { status: 200 });
    const chunks = await completion.rest();
    t.equal(chunks.at(-1)?.data, '[DONE]');
    t.match(chunks.at(-2)?.data, { choices: [{ finish_reason: 'stop' }] });

    const message = await openStream(
      client,
      '/messages',
      { model: MODEL, max_tokens: 100, messages, stream: true },
      { key },
    );
    const messageId = await begun(message);
    t.match(await client.post(`/chat/${messageId}/cancel`, undefined, { key }), { status: 200 });
    t.same(
      (await message.rest()).slice(-3).map(({ event }) => event),
      ['content_block_stop', 'message_delta', 'message_stop'],
    );
  });

  await t.test('POST /responses/:id/cancel 200: stops a response, stored or not', async (t) => {
    for (const store of [true, false]) {
      const stream = await openStream(client, '/responses', { input: 'Hi', stream: true, store }, { key });
      const { id } = (await stream.next())?.data.response ?? {};
      await stream.next();
      const answer = await client.post(`/responses/${id}/cancel`, undefined, { key });
      t.match(answer, { status: 200, body: { id, object: 'response', status: 'cancelled' } });
      const end = (await stream.rest()).at(-1);
      t.match(end, { event: 'response.incomplete', data: { response: { id, status: 'cancelled' } } });
      if (store) {
        t.same(answer.body, end?.data.response);
        t.same((await client.get(`/responses/${id}`, { key })).body, answer.body);
      } else t.same(Object.keys(answer.body).sort(), ['id', 'object', 'status']);
      const again = await client.post(`/responses/${id}/cancel`, undefined, { key });
      t.match(again, { status: 409, body: { error: { code: 'alreadyFinished' } } });
    }
    const unknown = `resp_${randomUUID().replaceAll('-', '')}`;
    t.match(await client.post(`/responses/${unknown}/cancel`, undefined, { key }), { status: 404 });
  });
});
