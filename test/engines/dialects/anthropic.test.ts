// Anthropic's Messages API as an upstream: requests, and the conversion of Anthropic's published sample responses.
import t from 'tap';
import { messagesDialect } from '../../../src/engines/dialects/messages.ts';
import type { CompletionInput } from '../../../src/engines/types.ts';
import {
  asking,
  chatEngine,
  collect,
  failure,
  fits,
  KEY,
  never,
  textOf,
} from '../../support/upstream/engine.ts';
import { anthropicEvents, anthropicMessage, eventText, wireServer } from '../../support/upstream/wire.ts';

const models = { kind: 'exact', models: [{ id: 'public', upstream: 'claude-sonnet-4-5' }] } as const;
const engineOf = (url: string) => chatEngine(url, { dialect: messagesDialect, models });

const details = [
  {
    type: 'reasoning.text',
    format: 'anthropic-claude-v1',
    text: 'The user asks for the weather.',
    signature: 'EqQBCgIYAhIM1gbcDa9GJwZA2b3h',
  },
  { type: 'reasoning.encrypted', format: 'anthropic-claude-v1', data: 'EmwKAhgBEgy3va3pzix' },
];
const usage = {
  prompt_tokens: 472,
  completion_tokens: 89,
  total_tokens: 561,
  prompt_tokens_details: { cached_tokens: 52, cache_write_tokens: 20 },
};

t.test('a request carries every field that the API supports', async (t) => {
  const { calls, url } = await wireServer(t, () => ({ body: anthropicMessage }));
  const input = {
    model: 'public',
    messages: [
      { role: 'system', content: 'Be brief.' },
      {
        role: 'user',
        content: [
          { type: 'text', text: 'What is this?' },
          { type: 'image_url', image_url: { url: 'data:image/png;base64,iVBORw0=' } },
          { type: 'image_url', image_url: { url: 'https://example.com/cat.png' } },
          { type: 'file', file: { filename: 'a.pdf', file_data: 'data:application/pdf;base64,JVBERg==' } },
        ],
      },
      {
        role: 'assistant',
        content: 'I will look.',
        reasoning_content: 'The user asks for the weather.',
        reasoning_details: details,
        tool_calls: [
          { id: 'call_1', type: 'function', function: { name: 'look', arguments: '{"at":"it"}' } },
          { id: 'call_2', type: 'function', function: { name: 'look', arguments: 'not JSON' } },
        ],
      },
      { role: 'tool', tool_call_id: 'call_1', content: 'A cat.' },
      { role: 'tool', tool_call_id: 'call_2', content: '' },
      { role: 'user', content: 'And?' },
    ],
    max_completion_tokens: 500,
    temperature: 1.5,
    top_p: 0.9,
    stop: 'END',
    user: 'u-1',
    tools: [
      {
        type: 'function',
        function: { name: 'look', description: 'Looks.', parameters: { type: 'object', properties: {} } },
      },
    ],
    tool_choice: 'required',
    parallel_tool_calls: false,
    response_format: { type: 'json_schema', json_schema: { name: 's', schema: { type: 'object' } } },
    frequency_penalty: 1,
    seed: 7,
  } as unknown as CompletionInput;
  await engineOf(url).complete(input, never());
  const [call] = calls;
  t.match(call, { method: 'POST', path: '/v1/messages' });
  t.match(call?.headers, { 'x-api-key': KEY, 'anthropic-version': '2023-06-01', authorization: undefined });
  t.same(call?.body, {
    model: 'claude-sonnet-4-5',
    system: 'Be brief.',
    messages: [
      {
        role: 'user',
        content: [
          { type: 'text', text: 'What is this?' },
          { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'iVBORw0=' } },
          { type: 'image', source: { type: 'url', url: 'https://example.com/cat.png' } },
          {
            type: 'document',
            source: { type: 'base64', media_type: 'application/pdf', data: 'JVBERg==' },
            title: 'a.pdf',
          },
        ],
      },
      {
        role: 'assistant',
        content: [
          ...anthropicMessage.content.slice(0, 2),
          { type: 'text', text: 'I will look.' },
          { type: 'tool_use', id: 'call_1', name: 'look', input: { at: 'it' } },
          { type: 'tool_use', id: 'call_2', name: 'look', input: {} },
        ],
      },
      {
        role: 'user',
        content: [
          { type: 'tool_result', tool_use_id: 'call_1', content: 'A cat.' },
          { type: 'tool_result', tool_use_id: 'call_2', content: '' },
          { type: 'text', text: 'And?' },
        ],
      },
    ],
    tools: [{ name: 'look', description: 'Looks.', input_schema: { type: 'object', properties: {} } }],
    tool_choice: { type: 'any', disable_parallel_tool_use: true },
    output_config: { format: { type: 'json_schema', schema: { type: 'object' } } },
    max_tokens: 500,
    temperature: 1,
    top_p: 0.9,
    stop_sequences: ['END'],
    metadata: { user_id: 'u-1' },
  });
});

t.test(
  'reasoning_effort becomes adaptive thinking without sampling, and max_tokens defaults to the limit of the model',
  async (t) => {
    const { calls, url } = await wireServer(t, () => ({ body: anthropicMessage }));
    const engine = engineOf(url);
    const asked = asking('Hi', { model: 'public', reasoning_effort: 'high', temperature: 0.2 });
    await engine.complete(asked, never(), { maxOutputTokens: 64_000 });
    await engine.complete(asking('Hi', { model: 'public', reasoning_effort: 'none' }), never());
    t.match(calls[0]?.body, {
      thinking: { type: 'adaptive' },
      output_config: { effort: 'high' },
      max_tokens: 64_000,
      temperature: undefined,
    });
    t.match(calls[1]?.body, { thinking: { type: 'disabled' }, max_tokens: 8192 });
  },
);

t.test('a forced tool call disables thinking, because Anthropic rejects the combination', async (t) => {
  const { calls, url } = await wireServer(t, () => ({ body: anthropicMessage }));
  const tools = [{ type: 'function', function: { name: 'f' } }];
  for (const choice of ['required', { type: 'function', function: { name: 'f' } }, 'auto'])
    await engineOf(url).complete(
      asking('Hi', { model: 'public', reasoning_effort: 'high', tools, tool_choice: choice }),
      never(),
    );
  t.same(
    calls.map(({ body }) => [body.thinking, body.output_config]),
    [
      [undefined, { effort: 'high' }],
      [undefined, { effort: 'high' }],
      [{ type: 'adaptive' }, { effort: 'high' }],
    ],
  );
});

t.test('a whole reply and a streamed reply have the same content', async (t) => {
  const { url } = await wireServer(t, ({ body }) => ({
    body: body.stream ? eventText(anthropicEvents) : anthropicMessage,
  }));
  const engine = engineOf(url);
  const whole = await engine.complete(asking('Hi', { model: 'public' }), never());
  fits('Completion', whole);
  t.match(whole, {
    id: anthropicMessage.id,
    model: 'public',
    choices: [
      {
        finish_reason: 'tool_calls',
        message: {
          content: "Okay, let's check the weather.",
          reasoning_content: 'The user asks for the weather.',
          reasoning_details: details,
          tool_calls: [
            {
              id: 'toolu_01T1x1fJ34',
              function: { name: 'get_weather', arguments: '{"location":"San Francisco, CA"}' },
            },
            { id: 'toolu_02', function: { name: 'get_time', arguments: '{}' } },
          ],
        },
      },
    ],
    usage,
  });

  const chunks = await collect(engine.stream(asking('Hi', { model: 'public', stream: true }), never()));
  for (const chunk of chunks) fits('CompletionChunk', chunk);
  t.equal(textOf(chunks), "Okay, let's check the weather.");
  const deltas = chunks.flatMap(({ choices }) =>
    choices.map(({ delta }) => delta as Record<string, unknown>),
  );
  t.same(
    deltas.flatMap(({ reasoning_details: of }) => of ?? []),
    details,
  );
  t.equal(deltas.map(({ reasoning_content: of }) => of ?? '').join(''), 'The user asks for the weather.');
  const calls = deltas.flatMap(({ tool_calls: of }) => (of ?? []) as { index: number; function: object }[]);
  const argumentsOf = (index: number) =>
    calls
      .filter((call) => call.index === index)
      .map((call) => ('arguments' in call.function ? call.function.arguments : ''))
      .join('');
  t.same(JSON.parse(argumentsOf(0)), { location: 'San Francisco, CA' });
  t.equal(argumentsOf(1), '{}');
  t.equal(chunks.at(-2)?.choices[0]?.finish_reason, 'tool_calls');
  t.match(chunks.at(-1)?.usage, usage);
});

t.test('a stream that ends early is upstreamError, wherever it is cut', async (t) => {
  let events: typeof anthropicEvents = [];
  const { url } = await wireServer(t, () => ({ body: eventText(events) }));
  const engine = engineOf(url);
  const overloaded = { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } };
  for (let length = 0; length < anthropicEvents.length; length += 1) {
    for (const end of [[], [overloaded]]) {
      events = [...anthropicEvents.slice(0, length), ...end];
      // After the stop reason, a reply is complete, even if the last event is missing.
      const isWhole = length === anthropicEvents.length - 1;
      const outcome = collect(engine.stream(asking('Hi', { model: 'public', stream: true }), never()));
      if (isWhole && end.length === 0) await outcome;
      else t.equal((await failure(outcome)).code, 'upstreamError', `${length} ${end.length}`);
    }
  }
});

t.test("Anthropic's errors map to the contract's codes", async (t) => {
  let answer: { status: number; type: string; message: string } = { status: 0, type: '', message: '' };
  const { url } = await wireServer(t, () => ({
    status: answer.status,
    body: { type: 'error', error: { type: answer.type, message: answer.message }, request_id: 'req_1' },
  }));
  const failed = async (status: number, type: string, message: string) => {
    answer = { status, type, message };
    const { code, options } = await failure(
      engineOf(url).complete(asking('Hi', { model: 'public' }), never()),
    );
    return [code, options.reason];
  };
  t.same(await failed(529, 'overloaded_error', 'Overloaded'), ['overloaded', undefined]);
  t.same(await failed(429, 'rate_limit_error', 'Slow down'), ['overloaded', undefined]);
  t.same(await failed(401, 'authentication_error', 'invalid x-api-key'), ['upstreamError', undefined]);
  t.same(await failed(404, 'not_found_error', 'model: claude-0'), ['notFound', undefined]);
  t.same(await failed(400, 'invalid_request_error', 'prompt is too long: 210000 tokens > 200000 maximum'), [
    'invalidRequest',
    'context_length_exceeded',
  ]);
});

t.test('a field that Anthropic does not support is rejected by name', async (t) => {
  const { calls, url } = await wireServer(t, () => ({ body: anthropicMessage }));
  const engine = engineOf(url);
  t.throws(() => engine.check?.({ model: 'public', n: 2 }), {
    code: 'invalidRequest',
    options: { param: 'n' },
  });
  const audio = { type: 'input_audio', input_audio: { data: 'AA==', format: 'wav' } };
  const inputs = [
    [{ messages: [{ role: 'user', content: [audio] }] }, 'messages.0.content.0'],
    [{ messages: [{ role: 'function', name: 'f', content: 'x' }] }, 'messages.0.role'],
    [{ functions: [{ name: 'f' }] }, 'functions'],
    [{ tools: [{ type: 'custom', custom: { name: 'f' } }] }, 'tools.0'],
  ] as const;
  for (const [fields, param] of inputs) {
    const error = await failure(engine.complete(asking('Hi', { model: 'public', ...fields }), never()));
    t.match(error, { code: 'invalidRequest', options: { param } });
  }
  t.equal(calls.length, 0);
});
