import t from 'tap';
import { eventsOf, openStream, type ServerEvent } from '../support/event-reader.ts';
import { onEachDatabase } from '../support/service.ts';
import { startUpstream } from '../support/upstream/client.ts';

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
const upstream = await startUpstream();
t.teardown(() => upstream.stop());

const textOf = (events: ServerEvent[]) =>
  events
    .filter(({ event }) => event === 'delta')
    .map(({ data }) => data.text)
    .join('');

t.test('the built-in engine', async (t) => {
  onEachDatabase(t, {}, async (t, { client }) => {
    const { key } = await client.createKey(await client.signUp());
    const body = { message: 'How do I create a key?' };

    await t.test(
      'POST /chat stream: sends start, deltas, and done with the non-streamed reply, and is charged once',
      async (t) => {
        const whole = await client.post('/chat', { ...body, store: false }, { key });
        const answer = await client.post('/chat', { ...body, stream: true }, { key });
        t.equal(answer.status, 200);
        t.equal(answer.headers.get('content-type'), 'text/event-stream; charset=utf-8');
        t.equal(answer.headers.get('cache-control'), 'no-store');
        t.equal(answer.headers.get('x-accel-buffering'), 'no');
        t.equal(answer.headers.get('ratelimit-remaining'), '48');
        const events: ServerEvent[] = answer.body;
        t.equal(events[0]?.event, 'start');
        t.match(events[0]?.data, { id: uuid, conversation_id: uuid, model: 'parley-builtin' });
        t.ok(events.length > 10);
        t.ok(events.slice(1, -1).every(({ event }) => event === 'delta'));
        const { id, conversation_id } = events[0]?.data ?? {};
        t.equal(events.at(-1)?.event, 'done');
        t.match(events.at(-1)?.data, { id, conversation_id, finish_reason: 'stop', usage: whole.body.usage });
        t.equal(events.at(-1)?.data.reply, whole.body.reply);
        t.equal(textOf(events), whole.body.reply);
        const usage = await client.get('/usage', { key });
        const { input_tokens: input, output_tokens: output } = whole.body.usage;
        t.match(usage.body.used, { chat: 2, tokens: 2 * (input + output) });
      },
    );

    await t.test(
      'POST /chat stream: continues a conversation, and stores nothing with store: false',
      async (t) => {
        const first = await client.post('/chat', { ...body, stream: true }, { key });
        const id = first.body[0].data.conversation_id;
        const more = { message: 'And a scope?', stream: true, conversation_id: id };
        t.equal((await client.post('/chat', more, { key })).body[0].data.conversation_id, id);
        t.equal((await client.get(`/conversations/${id}`, { key })).body.messages.length, 4);
        const before = (await client.get('/conversations', { key })).body.data.length;
        const unkept = await client.post('/chat', { ...body, stream: true, store: false }, { key });
        t.equal(unkept.body[0].data.conversation_id, null);
        t.equal(unkept.body.at(-1).data.conversation_id, null);
        t.equal((await client.get('/conversations', { key })).body.data.length, before);
      },
    );

    await t.test('POST /chat stream: invalid input returns a JSON error and is not charged', async (t) => {
      const before = (await client.get('/usage', { key })).body.used.chat;
      for (const [wrong, status] of [
        [{ message: '', stream: true }, 400],
        [{ message: 'x', stream: 'true' }, 400],
        [{ message: 'x', stream: true, model: 'nope' }, 404],
      ] as const) {
        t.equal((await client.post('/chat', wrong, { key })).status, status);
      }
      t.equal((await client.get('/usage', { key })).body.used.chat, before);
    });
  });
});

t.test('an upstream', async (t) => {
  t.beforeEach(() => upstream.reset());
  onEachDatabase(t, { CHAT_URL: upstream.url }, async (t, { client }) => {
    const { key } = await client.createKey(await client.signUp());

    await t.test(
      'POST /chat stream: events are sent immediately, and the turn is stored before done',
      async (t) => {
        await upstream.configure({ chunks: 5, chunkIntervalMs: 1500 });
        const startedAt = performance.now();
        const stream = await openStream(client, '/chat', { message: 'Hello', stream: true }, { key });
        const start = await stream.next();
        t.ok(performance.now() - startedAt < 5500, 'the first event does not wait for the last');
        const events = await stream.rest();
        t.equal(events.at(-1)?.event, 'done');
        t.equal(textOf(events), events.at(-1)?.data.reply);
        const read = await client.get(`/conversations/${start?.data.conversation_id}`, { key });
        t.equal(read.body.messages[1].content, events.at(-1)?.data.reply);
      },
    );

    await t.test(
      'POST /chat stream: nothing is sent before the first output, not even the headers',
      async (t) => {
        await upstream.configure({ firstChunkDelayMs: 400 });
        const startedAt = performance.now();
        const { response, rest } = await openStream(
          client,
          '/chat',
          { message: 'Hi', stream: true },
          { key },
        );
        t.ok(performance.now() - startedAt >= 390);
        t.equal(response.status, 200);
        t.match((await rest()).at(-1)?.data, { reply: 'You said: Hi' });
      },
    );

    await t.test(
      'POST /chat stream: start reports whether the model reasons before it replies',
      async (t) => {
        const chunk = (delta: Record<string, unknown>, finish: string | null = null) =>
          JSON.stringify({ choices: [{ index: 0, delta, finish_reason: finish }] });
        const role = chunk({ role: 'assistant', content: '' });
        const end = [chunk({ content: 'Yes' }), chunk({}, 'stop'), '[DONE]'];
        for (const reasoning of [
          { reasoning_content: 'Hm.' },
          { reasoning: 'Hm.' },
          { reasoning_details: [{ type: 'reasoning.encrypted', data: 'x' }] },
        ]) {
          await upstream.configure({ events: [role, chunk(reasoning), chunk(reasoning), ...end] });
          const { body } = await client.post('/chat', { message: 'Hi', stream: true }, { key });
          t.same(
            (body as ServerEvent[]).map(({ event }) => event),
            ['start', 'delta', 'done'],
          );
          t.equal(body[0].data.reasoning, true);
        }
        await upstream.configure({ events: [role, ...end] });
        const { body } = await client.post('/chat', { message: 'Hi', stream: true }, { key });
        t.notOk('reasoning' in body[0].data, 'no reasoning before the reply');
      },
    );

    await t.test(
      'POST /chat stream: a chunk with only a role is not output, so a later failure is refunded',
      async (t) => {
        const role = { index: 0, delta: { role: 'assistant', content: '' }, finish_reason: null };
        await upstream.configure({ events: [JSON.stringify({ choices: [role] })] });
        const before = (await client.get('/usage', { key })).body.used;
        const answer = await client.post('/chat', { message: 'Hi', stream: true }, { key });
        t.match(answer, { status: 502, body: { error: { code: 'upstreamError' } } });
        t.same((await client.get('/usage', { key })).body.used, before);
      },
    );

    await t.test(
      'POST /chat stream: an interrupted reply ends with error, remains charged, and is not stored',
      async (t) => {
        await upstream.configure({ chunks: 20, fault: 'truncate', faultAfter: 3 });
        const before = (await client.get('/usage', { key })).body.used;
        const { body } = await client.post('/chat', { message: 'Hi', stream: true }, { key });
        t.same(
          body.map(({ event }: ServerEvent) => event),
          ['start', 'delta', 'delta', 'delta', 'error'],
        );
        t.match(body.at(-1).data.error, { code: 'upstreamError', message: /remains charged/ });
        t.equal((await client.get(`/conversations/${body[0].data.conversation_id}`, { key })).status, 404);
        const { used } = (await client.get('/usage', { key })).body;
        t.equal(used.chat, before.chat + 1);
        t.ok(used.tokens > before.tokens, 'the tokens sent so far are charged');
      },
    );
  });
});

t.test('the event reader skips comments and rejects incomplete events', async (t) => {
  t.same(eventsOf(': keep-alive\n\nevent: a\ndata: {"x":1}\n\ndata: [DONE]\n\n'), [
    { event: 'a', data: { x: 1 } },
    { data: '[DONE]' },
  ]);
  t.throws(() => eventsOf('data: {"x":1}\n'));
});
