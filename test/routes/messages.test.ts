// Anthropic's Messages API. Contract section 14.
import t from 'tap';
import type { ServerEvent } from '../support/event-reader.ts';
import type { Client } from '../support/http.ts';
import { askMessage as ask, user } from '../support/messages.ts';
import { onEachDatabase, plansFile } from '../support/service.ts';
import { lastCharge } from '../support/spending.ts';

const typesOf = (events: ServerEvent[]) => events.map(({ data }) => data.type);
const textOf = (events: ServerEvent[]) => events.map(({ data }) => data.delta?.text ?? '').join('');
const usedBy = async (client: Client, key: string) => (await client.get('/usage', { key })).body.used.chat;

onEachDatabase(t, plansFile(t, { chat: 1000 }), async (t, service) => {
  const { client } = service;
  const owner = await client.signUp();
  const { key } = await client.createKey(owner);

  await t.test('POST /messages 200: returns a message and charges one unit', async (t) => {
    const before = await usedBy(client, key);
    const answer = await client.post('/messages', ask(), { key });
    t.match(answer, {
      status: 200,
      body: {
        id: /^msg_[0-9a-f]{32}$/,
        type: 'message',
        role: 'assistant',
        model: 'parley-builtin',
        content: [{ type: 'text', text: /key/i }],
        stop_reason: 'end_turn',
        stop_sequence: null,
        usage: { input_tokens: Number, output_tokens: Number, cache_read_input_tokens: 0 },
      },
    });
    t.same(
      Object.keys(answer.body.content[0]),
      ['type', 'text'],
      'no `citations`, because the AI SDK rejects null',
    );
    t.equal(answer.headers.get('request-id'), answer.headers.get('x-request-id'));
    t.equal(await usedBy(client, key), before + 1);
    t.match(await lastCharge(service, owner.accountId), { state: 'final', units: 1, status: 200 });
  });

  await t.test(
    'malformed content parts return 400 or are ignored on every surface, but never cause a 500',
    async (t) => {
      const nested = (content: unknown) => ({ type: 'document', source: { type: 'content', content } });
      const values = [
        null,
        7,
        'x',
        {},
        [null],
        [7],
        { type: null },
        { type: 'text' },
        { type: 'text', text: 7 },
      ];
      const image = (source: unknown) => ({ type: 'image', source });
      const odd = [
        ...values,
        ...values.map((value) => ({
          type: 'document',
          content: [value],
          source: { type: 'text', data: 'x' },
        })),
        ...values.map((value) => nested([value])),
        ...values.map((value) => nested([image(value)])),
        nested([image({ type: 'url', url: 7 })]),
        nested([image({ type: 'base64', media_type: 'image/png', data: 7 })]),
        { type: 'tool_reference', tool_name: 7 },
        { type: 'image_url', image_url: null },
        { type: 'input_image', image_url: 7 },
        { type: 'input_file', file_data: null },
      ];
      const asks = (part: unknown): [string, object][] => [
        ...[part, [part]].map((content): [string, object] => [
          '/messages',
          ask({ messages: [user('Hi'), user([{ type: 'tool_result', tool_use_id: 'a', content }])] }),
        ]),
        ['/messages', ask({ messages: [user('Hi'), user([part])] })],
        ...['tool', 'user', 'assistant'].map((role): [string, object] => [
          '/chat/completions',
          { messages: [user('Hi'), { role, tool_call_id: 'a', content: [part] }, user('Hi')] },
        ]),
        ...[[part], [{ type: 'function_call_output', call_id: 'a', output: [part] }]].map(
          (items): [string, object] => ['/responses', { input: [user('Hi'), ...items], store: false }],
        ),
      ];
      for (const part of odd)
        for (const [path, body] of asks(part)) {
          const { status, text } = await client.post(path, body, { key });
          t.ok(status === 200 || status === 400, `${path} ${JSON.stringify(body)}: ${status} ${text}`);
        }
    },
  );

  await t.test('null fields count as not set', async (t) => {
    const unset = ['system', 'stop_sequences', 'temperature', 'top_p', 'top_k', 'tools', 'tool_choice'];
    const more = ['thinking', 'metadata', 'stream', 'output_config', 'output_format', 'cache_control'];
    const nulls = Object.fromEntries([...unset, ...more].map((name) => [name, null]));
    const tools = [{ name: 'f', type: null, description: null, input_schema: null, strict: null }];
    for (const fields of [nulls, { ...nulls, tools }]) {
      const answer = await client.post('/messages', ask(fields), { key });
      t.equal(answer.status, 200, answer.text);
      const { max_tokens: _, ...conversation } = ask(fields) as Record<string, unknown>;
      t.equal((await client.post('/messages/count_tokens', conversation, { key })).status, 200);
    }
  });

  await t.test(
    'POST /messages 200: the events of a stream are in order and add up to the message',
    async (t) => {
      const whole = await client.post('/messages', ask(), { key });
      const {
        body: events,
        headers,
        status,
      } = await client.post('/messages', ask({ stream: true }), { key });
      t.equal(status, 200);
      t.match(headers.get('content-type'), /^text\/event-stream/);
      t.equal(headers.get('request-id'), headers.get('x-request-id'));
      const types = typesOf(events);
      t.same(
        events.map(({ event }: ServerEvent) => event),
        types,
      );
      t.same(types.slice(0, 2), ['message_start', 'content_block_start']);
      t.same(types.slice(-3), ['content_block_stop', 'message_delta', 'message_stop']);
      t.ok(types.slice(2, -3).every((type) => type === 'content_block_delta'));
      t.ok(types.length > 8, 'several pieces');
      t.match(events[0].data.message, { role: 'assistant', content: [], stop_reason: null });
      t.equal(textOf(events), whole.body.content[0].text);
      t.match(events.at(-2).data, { delta: { stop_reason: 'end_turn', stop_sequence: null } });
      t.same(events.at(-2).data.usage, whole.body.usage);
    },
  );

  await t.test('POST /messages 200: max_tokens limits the reply', async (t) => {
    const { body } = await client.post('/messages', ask({ max_tokens: 2 }), { key });
    t.equal(body.stop_reason, 'max_tokens');
  });

  await t.test('a retry gets the same message without a charge, streamed or not', async (t) => {
    for (const stream of [false, true]) {
      const headers = { 'idempotency-key': crypto.randomUUID() };
      const first = await client.post('/messages', ask({ stream }), { key, headers });
      const before = await usedBy(client, key);
      const again = await client.post('/messages', ask({ stream }), { key, headers });
      t.equal(again.headers.get('idempotency-replayed'), 'true');
      t.equal(await usedBy(client, key), before);
      if (!stream) t.same(again.body, first.body);
      else {
        t.same(again.body[0].data.message.id, first.body[0].data.message.id);
        t.equal(textOf(again.body), textOf(first.body));
        t.same(typesOf(again.body), [
          ...['message_start', 'content_block_start', 'content_block_delta'],
          ...['content_block_stop', 'message_delta', 'message_stop'],
        ]);
      }
    }
  });

  await t.test(
    'unknown fields are accepted at every level, and a header lists those at the top level',
    async (t) => {
      const body = {
        ...ask({
          system: [{ type: 'text', text: 'Be brief.', cache_control: { type: 'ephemeral' }, novelty: 1 }],
          messages: [
            { ...user([{ type: 'text', text: 'Hello', novelty: 1 }, { type: 'novelty' }]), novelty: 1 },
          ],
          tools: [{ name: 'f', input_schema: { type: 'object' }, defer_loading: true }, { type: 'novelty' }],
          tool_choice: { type: 'novelty', novelty: 1 },
          thinking: { type: 'novelty', novelty: 1 },
          metadata: { novelty: 1 },
          output_config: { novelty: 1 },
        }),
        context_management: { edits: [] },
        wonder: 1,
        service_tier: 'auto',
      };
      const answer = await client.post('/messages?beta=true', body, { key });
      t.equal(answer.status, 200, answer.text);
      t.equal(answer.headers.get('x-parley-ignored-fields'), 'wonder, service_tier');
      t.equal((await client.post('/messages', ask(), { key })).headers.get('x-parley-ignored-fields'), null);
    },
  );

  await t.test('POST /messages/count_tokens 200: returns a free estimate', async (t) => {
    const before = await usedBy(client, key);
    const { max_tokens: _, ...body } = ask({ messages: [user('x'.repeat(400))] });
    const count = async (fields: object = {}) =>
      (await client.post('/messages/count_tokens?beta=true', { ...body, ...fields }, { key })).body;
    t.same(await count(), { input_tokens: 100 });
    t.same(await count({ system: 'x'.repeat(40) }), { input_tokens: 110 });
    const call = { type: 'tool_use', id: 'a', name: 'f', input: { text: 'x'.repeat(387) } };
    t.same(await count({ messages: [user('x'), { role: 'assistant', content: [call] }] }), {
      input_tokens: Math.ceil((1 + 1 + JSON.stringify(call.input).length) / 4),
    });
    t.ok((await count({ tools: [{ name: 'f', input_schema: {} }] })).input_tokens > 100);
    t.match(await client.post('/messages/count_tokens', { ...body, model: 'nobody' }, { key }), {
      status: 404,
      body: { type: 'error', error: { type: 'not_found_error', param: 'model' } },
    });
    t.equal(await usedBy(client, key), before);
  });
});
