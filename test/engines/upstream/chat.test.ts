import t from 'tap';
import { MODEL, startUpstream } from '../../support/upstream/client.ts';
import { asking, chatEngine, failure, fits, never } from '../../support/upstream/engine.ts';

const upstream = await startUpstream();
t.teardown(() => upstream.stop());
t.beforeEach(() => upstream.reset());
const chat = chatEngine(upstream.url);
const mapped = chatEngine(upstream.url, {
  models: {
    kind: 'exact',
    models: [
      { id: 'fast', upstream: 'org/tiny-1' },
      { id: 'plain', upstream: 'plain' },
    ],
  },
});

t.test("a response is an OpenAI completion, including the upstream's additional fields", async (t) => {
  const completion = await chat.complete(asking('Hello there'), never());
  fits('Completion', completion);
  t.match(completion, {
    id: 'chatcmpl-test',
    object: 'chat.completion',
    created: 1_763_596_800,
    model: MODEL,
    system_fingerprint: 'fp_test',
    service_tier: 'test',
    choices: [
      {
        index: 0,
        message: { role: 'assistant', content: 'You said: Hello there', refusal: null, annotations: [] },
        logprobs: null,
        finish_reason: 'stop',
      },
    ],
    usage: {
      prompt_tokens: 2,
      completion_tokens: 4,
      total_tokens: 6,
      completion_tokens_details: { reasoning_tokens: 0 },
    },
  });
});

t.test("the upstream receives the client's body unchanged except for the model", async (t) => {
  const body = {
    model: 'fast',
    messages: [
      { role: 'developer' as const, content: 'Be brief.' },
      {
        role: 'user' as const,
        content: [
          { type: 'text', text: 'Hi' },
          { type: 'image_url', image_url: { url: 'data:image/png;base64,AA==', detail: 'low' } },
        ],
      },
      {
        role: 'assistant' as const,
        content: null,
        tool_calls: [{ id: 'c1', type: 'function', function: { name: 'f', arguments: '{}' } }],
      },
      { role: 'tool' as const, tool_call_id: 'c1', content: '7' },
    ],
    n: 2,
    seed: 42,
    temperature: 0,
    response_format: { type: 'json_schema', json_schema: { name: 's', schema: { type: 'object' } } },
    tools: [{ type: 'function', function: { name: 'f', parameters: {} } }],
    tool_choice: 'auto',
    logit_bias: { '50256': -100 },
    stream: false,
    user: 'u-1',
    an_extension: { of: ['theirs', null] },
  };
  const completion = await mapped.complete(body, never());
  const call = await upstream.onlyCall();
  t.same(call.body, { ...body, model: 'org/tiny-1' });
  t.equal(completion.model, 'fast', 'the response has the public name of the model');
});

t.test('upstream requests have a fixed set of headers', async (t) => {
  await chat.complete(asking('Hello'), never());
  t.same(Object.keys((await upstream.onlyCall()).headers).sort(), [
    'accept',
    'authorization',
    'connection',
    'content-length',
    'content-type',
    'host',
    'user-agent',
  ]);
});

t.test('fields that the upstream omits are filled in', async (t) => {
  await upstream.configure({ bare: true, usage: 'never' });
  const completion = await chat.complete(asking('Hello there'), never());
  fits('Completion', completion);
  t.match(completion.id, /^chatcmpl-\w{32}$/);
  t.ok(Math.abs(completion.created - Date.now() / 1000) < 5);
  t.equal(completion.system_fingerprint, null);
  t.match(completion.choices[0], { message: { refusal: null }, logprobs: null });
});

t.test('missing or zero usage is estimated as one token per four characters, rounded up', async (t) => {
  for (const usage of ['never', 'zero'] as const) {
    await upstream.configure({ usage });
    const { usage: estimated } = await chat.complete(asking('Hello there'), never());
    // 'Hello there' has 11 characters, 'You said: Hello there' 21.
    t.same(estimated, { prompt_tokens: 3, completion_tokens: 6, total_tokens: 9 }, usage);
  }
});

t.test('nonstandard values are normalized', async (t) => {
  await upstream.configure({
    completion: {
      id: 17,
      created: 1763596800.25,
      model: null,
      choices: [
        {
          finish_reason: '',
          message: {
            role: 'model',
            content: [
              { type: 'thinking', thinking: [] },
              { type: 'text', text: 'Hi' },
            ],
            reasoning_content: 'Hm.',
          },
          logprobs: [],
          content_filter_results: {},
        },
      ],
      usage: { prompt_tokens: 3, completion_tokens: 4.5, total_tokens: null, prompt_tokens_details: null },
    },
  });
  const completion = await chat.complete(asking('Hello'), never());
  fits('Completion', completion);
  t.equal(completion.created, 1_763_596_800);
  t.same(completion.choices, [
    {
      index: 0,
      message: { role: 'assistant', content: 'Hi', refusal: null, reasoning_content: 'Hm.' },
      logprobs: null,
      finish_reason: null,
      content_filter_results: {},
    },
  ]);
  t.same(completion.usage, {
    prompt_tokens: 3,
    completion_tokens: 4,
    total_tokens: 7,
    prompt_tokens_details: null,
  });
});

t.test('tool calls and their results round-trip', async (t) => {
  const tools = [
    {
      type: 'function',
      function: {
        name: 'weather',
        parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
      },
    },
  ];
  const first = await chat.complete(asking('How is the weather?', { tools }), never());
  fits('Completion', first);
  const [choice] = first.choices;
  t.equal(choice?.finish_reason, 'tool_calls');
  t.equal(choice?.message.content, null);
  type Call = { id: string; function: { name: string; arguments: string } };
  const [call] = (choice as unknown as { message: { tool_calls: [Call] } }).message.tool_calls;
  t.equal(call?.function.name, 'weather');
  t.same(JSON.parse(call?.function.arguments ?? ''), { city: 'Paris' });

  const messages = [
    { role: 'user' as const, content: 'How is the weather?' },
    { ...choice?.message, role: 'assistant' as const, content: null },
    { role: 'tool' as const, tool_call_id: call?.id, content: 'Sunny.' },
  ];
  const second = await chat.complete({ model: MODEL, messages, tools } as never, never());
  t.equal(second.choices[0]?.message.content, 'The tool says: Sunny.');
});

t.test('multiple choices, response formats, and log probabilities pass through', async (t) => {
  const completion = await chat.complete(
    asking('Hi', { n: 3, logprobs: true, response_format: { type: 'json_object' } }),
    never(),
  );
  fits('Completion', completion);
  t.same(
    completion.choices.map(({ index }) => index),
    [0, 1, 2],
  );
  t.same(JSON.parse(completion.choices[2]?.message.content ?? ''), { answer: 'You said: Hi' });
  t.match(completion.choices[0]?.logprobs, { content: [{ logprob: -0.5 }] });
});

t.test('fewer choices than requested are invalidRequest for n, and extra choices are dropped', async (t) => {
  const choice = { index: 0, message: { role: 'assistant', content: 'x' }, finish_reason: 'stop' };
  await upstream.configure({ completion: { choices: [choice] } });
  const error = await failure(chat.complete(asking('Hi', { n: 2 }), never()));
  t.equal(error.code, 'invalidRequest');
  t.equal(error.options.param, 'n');
  await upstream.configure({ completion: { choices: [choice, choice] } });
  t.equal((await chat.complete(asking('Hi'), never())).choices.length, 1);
});

t.test('invalid UTF-8 becomes U+FFFD', async (t) => {
  await upstream.configure({ fault: 'invalid-utf8' });
  t.equal((await chat.complete(asking('Hi'), never())).choices[0]?.message.content, '\ufffd\ufffd');
});

t.test('a request for a whole completion is sent with stream: false', async (t) => {
  await chat.complete(asking('Hello', { stream: true }), never());
  t.match((await upstream.onlyCall()).body, { stream: false });
});
