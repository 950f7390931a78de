// OpenAI's Responses API as an upstream: requests, and the conversion of OpenAI's published sample responses.
import t from 'tap';
import { responsesDialect } from '../../../src/engines/dialects/responses.ts';
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
import { eventText, openaiEvents, openaiResponse, wireServer } from '../../support/upstream/wire.ts';

const models = { kind: 'exact', models: [{ id: 'public', upstream: 'gpt-5' }] } as const;
const engineOf = (url: string) => chatEngine(url, { dialect: responsesDialect, models });

const details = [
  {
    type: 'reasoning.encrypted',
    format: 'openai-responses-v1',
    text: 'The user asks for the weather.',
    data: 'gAAAAABoISQ24OyVRYbk',
  },
];
const usage = {
  prompt_tokens: 472,
  completion_tokens: 89,
  total_tokens: 561,
  prompt_tokens_details: { cached_tokens: 52 },
  completion_tokens_details: { reasoning_tokens: 64 },
};

t.test('a request carries every field that the API supports', async (t) => {
  const { calls, url } = await wireServer(t, () => ({ body: openaiResponse }));
  const input = {
    model: 'public',
    messages: [
      { role: 'system', content: 'Be brief.' },
      {
        role: 'user',
        content: [
          { type: 'text', text: 'What is this?' },
          { type: 'image_url', image_url: { url: 'https://example.com/cat.png', detail: 'low' } },
          { type: 'file', file: { filename: 'a.pdf', file_data: 'data:application/pdf;base64,JVBERg==' } },
        ],
      },
      {
        role: 'assistant',
        content: 'I will look.',
        reasoning_details: details,
        tool_calls: [
          { id: 'call_1', type: 'function', function: { name: 'look', arguments: '{"at":"it"}' } },
        ],
      },
      { role: 'tool', tool_call_id: 'call_1', content: 'A cat.' },
    ],
    max_tokens: 500,
    temperature: 0.5,
    prompt_cache_key: 'p-1',
    tools: [{ type: 'function', function: { name: 'look', parameters: { type: 'object' } } }],
    tool_choice: { type: 'function', function: { name: 'look' } },
    response_format: { type: 'json_schema', json_schema: { name: 's', schema: { type: 'object' } } },
    verbosity: 'low',
    stop: 'END',
    seed: 7,
  } as unknown as CompletionInput;
  await engineOf(url).complete(input, never());
  const [call] = calls;
  t.match(call, { method: 'POST', path: '/v1/responses', headers: { authorization: `Bearer ${KEY}` } });
  t.same(call?.body, {
    model: 'gpt-5',
    input: [
      { type: 'message', role: 'system', content: [{ type: 'input_text', text: 'Be brief.' }] },
      {
        type: 'message',
        role: 'user',
        content: [
          { type: 'input_text', text: 'What is this?' },
          { type: 'input_image', image_url: 'https://example.com/cat.png', detail: 'low' },
          { type: 'input_file', file_data: 'data:application/pdf;base64,JVBERg==', filename: 'a.pdf' },
        ],
      },
      {
        type: 'reasoning',
        summary: [{ type: 'summary_text', text: 'The user asks for the weather.' }],
        encrypted_content: 'gAAAAABoISQ24OyVRYbk',
      },
      {
        type: 'message',
        role: 'assistant',
        content: [{ type: 'output_text', text: 'I will look.', annotations: [] }],
      },
      { type: 'function_call', call_id: 'call_1', name: 'look', arguments: '{"at":"it"}' },
      { type: 'function_call_output', call_id: 'call_1', output: 'A cat.' },
    ],
    store: false,
    temperature: 0.5,
    prompt_cache_key: 'p-1',
    tools: [{ type: 'function', name: 'look', strict: false, parameters: { type: 'object' } }],
    tool_choice: { type: 'function', name: 'look' },
    max_output_tokens: 500,
    text: { format: { type: 'json_schema', name: 's', schema: { type: 'object' } }, verbosity: 'low' },
  });
});

t.test('requests ask for encrypted reasoning until the upstream rejects it', async (t) => {
  const { calls, url } = await wireServer(t, ({ body }) =>
    body.include === undefined
      ? { body: openaiResponse }
      : {
          status: 400,
          body: {
            error: { message: 'Encrypted content is not supported with this model.', param: 'include' },
          },
        },
  );
  const engine = engineOf(url);
  const asked = asking('Hi', { model: 'public', reasoning_effort: 'low' });
  await engine.complete(asked, never());
  await engine.complete(asked, never());
  t.same(
    calls.map(({ body }) => [body.reasoning, body.include]),
    [
      [{ effort: 'low' }, ['reasoning.encrypted_content']],
      [{ effort: 'low' }, undefined],
      [{ effort: 'low' }, undefined],
    ],
  );
});

t.test('a whole reply and a streamed reply have the same content', async (t) => {
  const { url } = await wireServer(t, ({ body }) => ({
    body: body.stream ? eventText(openaiEvents) : openaiResponse,
  }));
  const engine = engineOf(url);
  const whole = await engine.complete(asking('Hi', { model: 'public' }), never());
  fits('Completion', whole);
  const toolCalls = [
    {
      id: 'call_unDw3TjSk2',
      function: { name: 'get_weather', arguments: '{"location":"San Francisco, CA"}' },
    },
    { id: 'call_vEw4UkTl3', function: { name: 'maps__map', arguments: '{"city":"Paris"}' } },
  ];
  t.match(whole, {
    id: openaiResponse.id,
    created: 1_741_294_021,
    model: 'public',
    choices: [
      {
        finish_reason: 'tool_calls',
        message: {
          content: "Okay, let's check the weather.",
          reasoning_content: 'The user asks for the weather.',
          reasoning_details: details,
          tool_calls: toolCalls,
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
  type Called = { index: number; function: { name?: string; arguments: string } };
  const called = deltas.flatMap(({ tool_calls: of }) => (of ?? []) as Called[]);
  for (const [index, { function: expected }] of toolCalls.entries()) {
    const pieces = called.filter((of) => of.index === index).map((of) => of.function);
    t.equal(pieces[0]?.name, expected.name);
    t.equal(pieces.map((piece) => piece.arguments).join(''), expected.arguments);
  }
  t.equal(chunks.at(-2)?.choices[0]?.finish_reason, 'tool_calls');
  t.match(chunks.at(-1)?.usage, usage);
});

t.test('a server may send only complete items, without deltas', async (t) => {
  const whole = openaiEvents.filter(({ type }) => /created|output_item\.done|completed/.test(type));
  const { url } = await wireServer(t, () => ({ body: eventText(whole) }));
  const chunks = await collect(
    engineOf(url).stream(asking('Hi', { model: 'public', stream: true }), never()),
  );
  t.equal(textOf(chunks), "Okay, let's check the weather.");
  const deltas = chunks.flatMap(({ choices }) =>
    choices.map(({ delta }) => delta as Record<string, unknown>),
  );
  t.match(
    deltas.filter(({ tool_calls: of }) => of),
    [
      { tool_calls: [{ index: 0, id: 'call_unDw3TjSk2' }] },
      { tool_calls: [{ index: 0, function: { arguments: '{"location":"San Francisco, CA"}' } }] },
      { tool_calls: [{ index: 1, id: 'call_vEw4UkTl3', function: { name: 'maps__map' } }] },
      { tool_calls: [{ index: 1, function: { arguments: '{"city":"Paris"}' } }] },
    ],
  );
});

t.test('a stream that ends early is upstreamError, wherever it is cut', async (t) => {
  let events: typeof openaiEvents = [];
  const { url } = await wireServer(t, () => ({ body: eventText(events) }));
  const engine = engineOf(url);
  const failed = {
    type: 'response.failed',
    response: { status: 'failed', error: { code: 'server_error', message: 'An error occurred.' } },
  };
  const error = { type: 'error', code: 'server_error', message: 'An error occurred.', param: null };
  for (let length = 0; length < openaiEvents.length; length += 1) {
    for (const end of [[], [failed], [error]]) {
      events = [...openaiEvents.slice(0, length), ...end];
      const outcome = collect(engine.stream(asking('Hi', { model: 'public', stream: true }), never()));
      t.equal((await failure(outcome)).code, 'upstreamError', `${length} ${end[0]?.type}`);
    }
  }
});

t.test('a failure that the request causes is invalidRequest with its reason', async (t) => {
  const error = { code: 'context_length_exceeded', message: 'Your input exceeds the context window.' };
  const response = { status: 'failed', output: [], error };
  const { url } = await wireServer(t, () => ({ body: eventText([{ type: 'response.failed', response }]) }));
  const chunks = engineOf(url).stream(asking('Hi', { model: 'public', stream: true }), never());
  t.match(await failure(collect(chunks)), {
    code: 'invalidRequest',
    options: { reason: 'context_length_exceeded' },
  });
});
