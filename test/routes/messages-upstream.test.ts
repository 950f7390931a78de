// How the Messages API translates requests to an upstream, and its replies. Contract section 14.
import t from 'tap';
import type { ServerEvent } from '../support/event-reader.ts';
import { askMessage, user } from '../support/messages.ts';
import { onEachDatabase } from '../support/service.ts';
import { lastCharge } from '../support/spending.ts';
import { MODEL, startUpstream } from '../support/upstream/client.ts';

const upstream = await startUpstream();
t.teardown(() => upstream.stop());
t.beforeEach(() => upstream.reset());

const ask = (fields: object = {}) => askMessage({ model: MODEL, ...fields });
const assistant = (content: unknown) => ({ role: 'assistant', content });
/** The bodies of all chat requests that reached the upstream. */
const asked = async () =>
  (await upstream.calls()).last
    .filter(({ path }) => path.endsWith('/chat/completions'))
    .map(({ body }) => body as Record<string, unknown>);

/** A complete reply from the upstream. */
const completion = (message: object, finish = 'stop', usage: object = {}, choice: object = {}) => ({
  completion: {
    id: 'x',
    object: 'chat.completion',
    created: 1,
    model: MODEL,
    choices: [
      {
        index: 0,
        message: { role: 'assistant', content: null, ...message },
        finish_reason: finish,
        ...choice,
      },
    ],
    usage: { prompt_tokens: 5, completion_tokens: 7, total_tokens: 12, ...usage },
  },
});

/** The same as a stream, with one event per delta. */
const stream = (deltas: object[], finish = 'stop', usage: object = {}, choice: object = {}) => ({
  events: [
    ...deltas.map((delta) => JSON.stringify({ choices: [{ index: 0, delta, finish_reason: null }] })),
    JSON.stringify({ choices: [{ index: 0, delta: {}, finish_reason: finish, ...choice }] }),
    JSON.stringify({ choices: [], usage: { prompt_tokens: 5, completion_tokens: 7, ...usage } }),
    '[DONE]',
  ],
});

const weather = { name: 'weather', description: 'Tells', input_schema: { type: 'object' } };
const call = (index: number, args: string) => ({
  index,
  id: `call_${index}`,
  type: 'function',
  function: { name: `tool_${index}`, arguments: args },
});

onEachDatabase(t, { CHAT_URL: upstream.url }, async (t, service) => {
  const { client } = service;
  const owner = await client.signUp();
  const { key } = await client.createKey(owner);
  const post = (fields: object = {}) => client.post('/messages', ask(fields), { key });

  await t.test('the conversation reaches the model as chat completion messages', async (t) => {
    const image = { type: 'base64', media_type: 'image/png', data: 'AAAA' };
    const answer = await post({
      system: [
        { type: 'text', text: 'Be brief.', cache_control: { type: 'ephemeral' } },
        { type: 'text', text: 'Be kind.' },
      ],
      messages: [
        { role: 'system', content: 'Be fast.' },
        user('Weather?'),
        assistant([
          { type: 'thinking', thinking: 'Hm.', signature: 'x' },
          { type: 'redacted_thinking', data: 'x' },
          { type: 'text', text: 'I look.' },
          { type: 'tool_use', id: 'c1', name: 'weather', input: { city: 'Paris' } },
          { type: 'server_tool_use', id: 'c3', name: 'web_search', input: {} },
          { type: 'tool_use', id: 'c2', name: 'map', input: {} },
        ]),
        user([
          { type: 'text', text: 'So?', cache_control: null },
          { type: 'tool_result', tool_use_id: 'c1', content: 'No sensor', is_error: true },
          {
            type: 'tool_result',
            tool_use_id: 'c2',
            content: [
              { type: 'text', text: 'A map' },
              { type: 'image', source: image },
            ],
          },
          {
            type: 'document',
            title: 'Notes',
            source: { type: 'text', media_type: 'text/plain', data: 'Rain' },
          },
        ]),
        { role: 'system', content: [{ type: 'text', text: 'Be honest.' }] },
        user([
          { type: 'image', source: { type: 'url', url: 'https://example.com/map.png' } },
          { type: 'text', text: 'And this?' },
        ]),
        assistant('It'),
      ],
    });
    t.equal(answer.status, 200, answer.text);
    const [body] = await asked();
    t.same(body?.messages, [
      { role: 'system', content: 'Be brief.\n\nBe kind.\n\nBe fast.' },
      { role: 'user', content: 'Weather?' },
      {
        role: 'assistant',
        content: 'I look.',
        reasoning_content: 'Hm.',
        reasoning_details: [
          { type: 'reasoning.text', format: 'anthropic-claude-v1', text: 'Hm.', signature: 'x' },
          { type: 'reasoning.encrypted', format: 'anthropic-claude-v1', data: 'x' },
        ],
        tool_calls: [
          { id: 'c1', type: 'function', function: { name: 'weather', arguments: '{"city":"Paris"}' } },
          { id: 'c2', type: 'function', function: { name: 'map', arguments: '{}' } },
        ],
      },
      { role: 'tool', tool_call_id: 'c1', content: 'Error: No sensor' },
      { role: 'tool', tool_call_id: 'c2', content: 'A map' },
      {
        role: 'user',
        content: [
          { type: 'text', text: 'Images in the result of c2:' },
          { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } },
          { type: 'text', text: 'So?' },
          { type: 'text', text: 'Notes' },
          { type: 'text', text: 'Rain' },
        ],
      },
      { role: 'system', content: 'Be honest.' },
      {
        role: 'user',
        content: [
          { type: 'image_url', image_url: { url: 'https://example.com/map.png' } },
          { type: 'text', text: 'And this?' },
        ],
      },
      { role: 'assistant', content: 'It' },
    ]);
  });

  await t.test(
    'known options and tools reach the model under their chat completion names, and unknown fields do not',
    async (t) => {
      await post({
        temperature: 0.5,
        top_p: 0.9,
        top_k: 40,
        stop_sequences: ['END'],
        metadata: { user_id: 'ada', novelty: 1 },
        output_config: { effort: 'max', format: { type: 'json_schema', schema: { type: 'object' } } },
        tools: [
          { ...weather, strict: true, cache_control: { type: 'ephemeral' } },
          { type: 'custom', name: 'plain' },
          { type: 'web_search_20250305', name: 'web_search', max_uses: 3 },
          { type: 'bash_20250124', name: 'bash' },
        ],
        tool_choice: { type: 'tool', name: 'weather', disable_parallel_tool_use: true },
        context_management: { edits: [] },
        service_tier: 'auto',
        novelty: 1,
      });
      const [body] = await asked();
      t.same(body, {
        model: MODEL,
        messages: [{ role: 'user', content: 'How do I create a key?' }],
        tools: [
          {
            type: 'function',
            function: { name: 'weather', description: 'Tells', parameters: { type: 'object' }, strict: true },
          },
          { type: 'function', function: { name: 'plain', parameters: { type: 'object', properties: {} } } },
        ],
        tool_choice: { type: 'function', function: { name: 'weather' } },
        parallel_tool_calls: false,
        reasoning_effort: 'max',
        response_format: { type: 'json_schema', json_schema: { name: 'answer', schema: { type: 'object' } } },
        max_tokens: 1000,
        temperature: 0.5,
        top_p: 0.9,
        top_k: 40,
        stop: ['END'],
        user: 'ada',
      });
    },
  );

  await t.test('thinking, tool choices, and formats are translated to chat completion fields', async (t) => {
    const schema = { type: 'object' };
    const tools = [weather];
    const cases: [object, object][] = [
      [{ thinking: { type: 'enabled', budget_tokens: 1024 } }, { reasoning_effort: 'low' }],
      [{ thinking: { type: 'enabled', budget_tokens: 4096 } }, { reasoning_effort: 'medium' }],
      [{ thinking: { type: 'enabled', budget_tokens: 16_384 } }, { reasoning_effort: 'high' }],
      [{ thinking: { type: 'adaptive' } }, { reasoning_effort: undefined }],
      [{ thinking: { type: 'adaptive' }, output_config: { effort: 'low' } }, { reasoning_effort: 'low' }],
      [{ thinking: { type: 'disabled' }, output_config: { effort: 'low' } }, { reasoning_effort: undefined }],
      [{ output_config: { effort: 'constructor' } }, { reasoning_effort: undefined }],
      [{ output_config: { effort: null, format: null } }, { response_format: undefined }],
      [{ output_format: { type: 'json_schema', schema } }, { response_format: { json_schema: { schema } } }],
      [
        { tools, tool_choice: { type: 'any' } },
        { tool_choice: 'required', parallel_tool_calls: undefined },
      ],
      [{ tools, tool_choice: { type: 'auto' } }, { tool_choice: 'auto' }],
      [{ tools, tool_choice: { type: 'none' } }, { tool_choice: 'none' }],
      [{ tools, tool_choice: { type: 'tool', name: 'other' } }, { tool_choice: undefined }],
      [
        { tools: [{ type: 'web_search_20250305', name: 'w' }], tool_choice: { type: 'any' } },
        { tools: undefined, tool_choice: undefined },
      ],
      [{ metadata: { user_id: 'x'.repeat(65) } }, { user: /^[0-9a-f]{64}$/ }],
      [{ metadata: { user_id: null } }, { user: undefined }],
      [{ stop_sequences: [] }, { stop: undefined }],
    ];
    for (const [fields, expected] of cases) {
      await upstream.reset();
      t.equal((await post(fields)).status, 200);
      t.match((await asked())[0], expected, JSON.stringify(fields));
    }
  });

  await t.test('if a model rejects an effort, the request is retried once without it', async (t) => {
    await upstream.configure({ refuses: ['reasoning_effort'] });
    const fields = { output_config: { effort: 'high' } };
    for (const [stream, expected] of [
      [true, ['high', undefined]],
      [false, ['high', undefined, undefined]],
    ] as const) {
      t.equal((await post({ ...fields, stream })).status, 200);
      t.same(
        (await asked()).map((body) => body.reasoning_effort),
        expected,
      );
    }
    await upstream.configure({ fault: 'status', status: 400, message: 'Too long' });
    t.equal((await post(fields)).status, 400, 'other errors are returned to the client');
  });

  await t.test('replies have thinking, text, and tool calls, streamed or not', async (t) => {
    const usage = { prompt_tokens_details: { cached_tokens: 2 } };
    const calls = [call(0, '{"a":1}'), call(1, '')];
    const message = { reasoning_content: 'Hm.', content: 'Let me see.', tool_calls: calls };
    const expected = {
      content: [
        { type: 'thinking', thinking: 'Hm.', signature: 'parley' },
        { type: 'text', text: 'Let me see.' },
        { type: 'tool_use', id: 'call_0', name: 'tool_0', input: { a: 1 } },
        { type: 'tool_use', id: 'call_1', name: 'tool_1', input: {} },
      ],
      stop_reason: 'tool_use',
      usage: {
        input_tokens: 3,
        output_tokens: 7,
        cache_creation_input_tokens: 0,
        cache_read_input_tokens: 2,
      },
    };
    await upstream.configure(completion(message, 'tool_calls', usage));
    const whole = await post();
    t.match(whole.body, expected);
    t.match(await lastCharge(service, owner.accountId), { input_tokens: 5, output_tokens: 7 });

    await upstream.configure(
      stream(
        [
          { role: 'assistant' },
          { reasoning_content: 'H' },
          { reasoning_content: 'm.' },
          { content: 'Let me ' },
          { content: 'see.' },
          { tool_calls: [call(0, '{"a"')] },
          { tool_calls: [{ index: 0, function: { arguments: ':1}' } }] },
          { tool_calls: [call(1, '')] },
        ],
        'tool_calls',
        usage,
      ),
    );
    const events: ServerEvent[] = (await post({ stream: true })).body;
    const block = (index: number, start: object, ...deltas: object[]) => [
      { type: 'content_block_start', index, content_block: start },
      ...deltas.map((delta) => ({ type: 'content_block_delta', index, delta })),
      { type: 'content_block_stop', index },
    ];
    const json = (text: string) => ({ type: 'input_json_delta', partial_json: text });
    t.same(
      events.slice(1).map(({ data }) => data),
      [
        ...block(
          0,
          { type: 'thinking', thinking: '', signature: '' },
          { type: 'thinking_delta', thinking: 'H' },
          { type: 'thinking_delta', thinking: 'm.' },
          { type: 'signature_delta', signature: 'parley' },
        ),
        ...block(
          1,
          { type: 'text', text: '' },
          { type: 'text_delta', text: 'Let me ' },
          { type: 'text_delta', text: 'see.' },
        ),
        ...block(2, { type: 'tool_use', id: 'call_0', name: 'tool_0', input: {} }, json('{"a"'), json(':1}')),
        ...block(3, { type: 'tool_use', id: 'call_1', name: 'tool_1', input: {} }),
        {
          type: 'message_delta',
          delta: { stop_reason: 'tool_use', stop_sequence: null, stop_details: null },
          usage: expected.usage,
        },
        { type: 'message_stop' },
      ],
    );
    t.match(events[0]?.data, {
      type: 'message_start',
      message: { content: [], usage: { output_tokens: 0 } },
    });
  });

  await t.test('stop reasons are translated, streamed or not', async (t) => {
    const text = { content: 'Hello' };
    const cases: [message: object, finish: string, choice: object, reason: string, sequence?: string][] = [
      [text, 'stop', {}, 'end_turn'],
      [text, 'length', {}, 'max_tokens'],
      [text, 'content_filter', {}, 'refusal'],
      [text, 'novelty', {}, 'end_turn'],
      [text, 'stop', { stop_reason: 'END' }, 'stop_sequence', 'END'],
      [text, 'stop', { stop_reason: 'other' }, 'end_turn'],
      [{ refusal: 'No.' }, 'stop', {}, 'refusal'],
      [{ tool_calls: [call(0, '{}')] }, 'stop', {}, 'tool_use'],
      [{ tool_calls: [call(0, '{}')] }, 'function_call', {}, 'tool_use'],
      [{ tool_calls: [call(0, '{"a')] }, 'length', {}, 'max_tokens'],
    ];
    for (const [message, finish, choice, reason, sequence = null] of cases) {
      const title = `${JSON.stringify(message)} ${finish}`;
      const expected = { stop_reason: reason, stop_sequence: sequence };
      await upstream.configure(completion(message, finish, {}, choice));
      t.match((await post({ stop_sequences: ['END'] })).body, expected, title);
      await upstream.configure(stream([message], finish, {}, choice));
      const { body } = await post({ stop_sequences: ['END'], stream: true });
      t.match(body.at(-2).data.delta, expected, `${title}, streamed`);
    }
  });

  await t.test(
    'a refusal becomes text, and tool input that is not an object becomes an empty object',
    async (t) => {
      await upstream.configure(completion({ refusal: 'No.', tool_calls: [call(0, '[1'), call(1, '[1]')] }));
      t.match((await post()).body, {
        content: [
          { type: 'text', text: 'No.' },
          { type: 'tool_use', input: {} },
          { type: 'tool_use', input: {} },
        ],
        stop_reason: 'refusal',
      });
    },
  );

  await t.test('a failure before the reply returns a JSON error and is refunded', async (t) => {
    const faults: [object, number, object][] = [
      [{ fault: 'status', status: 500 }, 502, { type: 'api_error', code: 'upstreamError' }],
      [{ fault: 'status', status: 429 }, 503, { type: 'overloaded_error', code: 'overloaded' }],
      [
        { fault: 'status', status: 400, code: 'context_length_exceeded' },
        400,
        { type: 'invalid_request_error', reason: 'context_length_exceeded' },
      ],
    ];
    for (const [fault, status, error] of faults)
      for (const stream of [false, true]) {
        await upstream.configure(fault);
        t.match(await post({ stream }), { status, body: { type: 'error', error } });
        t.match(await lastCharge(service, owner.accountId), { state: 'refunded', status });
      }
  });

  await t.test('a failure during a stream sends an error event, and a retry replays it', async (t) => {
    const fault = { chunks: 9, fault: 'truncate', faultAfter: 2 } as const;
    await upstream.configure(fault);
    const headers = { 'idempotency-key': crypto.randomUUID() };
    const body = ask({ stream: true });
    const first = await client.post('/messages', body, { key, headers });
    const again = await client.post('/messages', body, { key, headers });
    t.equal(again.headers.get('idempotency-replayed'), 'true');
    for (const { body: events } of [first, again]) {
      t.equal(events[0].event, 'message_start');
      t.match(events.at(-1), {
        event: 'error',
        data: {
          type: 'error',
          error: { type: 'api_error', code: 'upstreamError', charged: true },
          request_id: first.headers.get('request-id'),
        },
      });
    }
    t.equal((await asked()).length, 1);
  });
});
