import t from 'tap';
import type { ServerEvent } from '../support/event-reader.ts';
import { onEachDatabase } from '../support/service.ts';
import { lastCharge } from '../support/spending.ts';
import { MODEL, startUpstream } from '../support/upstream/client.ts';

const upstream = await startUpstream();
t.teardown(() => upstream.stop());

const messages = [{ role: 'user', content: 'Hello there' }];
const usageOf = (events: ServerEvent[]) => events.filter(({ data }) => data.usage);
const textOf = (events: ServerEvent[], index = 0) =>
  events
    .flatMap(({ data }) => data.choices ?? [])
    .filter((choice) => choice.index === index)
    .map(({ delta }) => delta.content ?? '')
    .join('');

t.test('the built-in engine', async (t) => {
  onEachDatabase(t, {}, async (t, { client }) => {
    const { key } = await client.createKey(await client.signUp());
    const used = async () => (await client.get('/usage', { key })).body.used;

    await t.test(
      'POST /chat/completions stream: sends chunks and [DONE] with the non-streamed text, and charges n',
      async (t) => {
        const whole = await client.post('/chat/completions', { messages }, { key });
        const before = await used();
        const answer = await client.post('/chat/completions', { messages, n: 2, stream: true }, { key });
        t.equal(answer.headers.get('content-type'), 'text/event-stream; charset=utf-8');
        const events: ServerEvent[] = answer.body;
        t.same(events.at(-1), { data: '[DONE]' });
        t.same(events[0]?.data.choices[0].delta, { role: 'assistant', content: '', refusal: null });
        for (const index of [0, 1]) t.equal(textOf(events, index), whole.body.choices[0].message.content);
        t.equal(new Set(events.slice(0, -1).map(({ data }) => data.id)).size, 1);
        t.equal(usageOf(events).length, 0, 'usage was not requested');
        const after = await used();
        t.equal(after.chat, before.chat + 2);
        t.ok(after.tokens > before.tokens, 'usage is counted anyway');
      },
    );

    await t.test(
      'POST /chat/completions stream: usage is in the last chunk if requested, and null in the others',
      async (t) => {
        const body = { messages, stream: true, stream_options: { include_usage: true } };
        const events: ServerEvent[] = (await client.post('/chat/completions', body, { key })).body;
        const [usage] = usageOf(events);
        t.equal(usageOf(events).length, 1);
        t.equal(events.at(-2), usage);
        t.same(usage?.data.choices, []);
        t.ok(events.slice(0, -2).every(({ data }) => data.usage === null));
      },
    );

    await t.test('POST /chat/completions 200: stream: false and null return JSON', async (t) => {
      for (const stream of [false, null]) {
        const answer = await client.post('/chat/completions', { messages, stream }, { key });
        t.match(answer, { status: 200, body: { object: 'chat.completion' } });
      }
    });
  });
});

t.test('an upstream', async (t) => {
  t.beforeEach(() => upstream.reset());
  onEachDatabase(t, { CHAT_URL: upstream.url }, async (t, service) => {
    const { client } = service;
    const owner = await client.signUp();
    const { key } = await client.createKey(owner);

    await t.test(
      "POST /chat/completions stream: passes through the client's fields and the upstream's fields",
      async (t) => {
        const tools = [
          {
            type: 'function',
            function: { name: 'weather', parameters: { properties: { city: { type: 'string' } } } },
          },
        ];
        const { body } = await client.post('/chat/completions', { messages, tools, stream: true }, { key });
        const calls = body
          .flatMap(({ data }: ServerEvent) => data.choices ?? [])
          .flatMap(({ delta }: { delta: { tool_calls?: unknown[] } }) => delta.tool_calls ?? []);
        t.equal(calls[0].function.name, 'weather');
        t.equal(
          calls.map((call: { function: { arguments: string } }) => call.function.arguments).join(''),
          '{"city":"Paris"}',
        );
        t.match((await upstream.calls()).last.at(-1)?.body, {
          tools,
          model: MODEL,
          stream: true,
          stream_options: { include_usage: true },
        });
        t.equal(body[1].data.service_tier, 'test');
      },
    );

    await t.test('POST /chat/completions stream: charges the tokens that the upstream reports', async (t) => {
      await client.post('/chat/completions', { messages, stream: true }, { key });
      t.match(await lastCharge(service, owner.accountId), {
        state: 'final',
        status: 200,
        code: null,
        model: MODEL,
        input_tokens: 2,
        output_tokens: 4,
      });
    });

    await t.test(
      'POST /chat/completions stream: an interrupted reply ends with error and without [DONE]',
      async (t) => {
        await upstream.configure({ chunks: 9, fault: 'truncate', faultAfter: 2 });
        const { body, text } = await client.post(
          '/chat/completions',
          { messages, stream: true, n: 2 },
          { key },
        );
        t.match(body.at(-1).data, {
          error: { code: 'upstreamError', type: 'server_error', message: /remains charged/ },
        });
        t.notOk(text.includes('[DONE]'));
        t.match(await lastCharge(service, owner.accountId), {
          state: 'final',
          status: 502,
          code: 'upstreamError',
          units: 2,
        });
      },
    );
  });
});
