// Anthropic's client uses the Messages API. Version 0 sends `x-api-key`; version 1 sends a Bearer token.
import Anthropic from '@anthropic-ai/sdk';
import NewestAnthropic from 'anthropic-newest';
import t, { type Test } from 'tap';
import type { Upstream } from '../support/upstream/client.ts';
import { abortSeen, onItsOwn, type Parley, rejection, SLOW, withUpstream } from './parley.ts';

type Client = typeof Anthropic;

const ask = (content: string) => [{ role: 'user' as const, content }];
const question = { max_tokens: 1000, messages: ask('How do I create a key?') };
const weather = {
  name: 'weather',
  description: 'The weather of a city.',
  input_schema: { type: 'object' as const, properties: { city: { type: 'string' } }, required: ['city'] },
};
/** The base URL without `/v1`, which the client adds. */
const baseOf = ({ baseURL }: Parley) => baseURL.replace(/\/v1$/, '');

/** Tests that pass with any engine. */
function commonTests(t: Test, Anthropic: Client, parley: Parley) {
  const { apiKey, model } = parley;
  const anthropic = new Anthropic({ baseURL: baseOf(parley), apiKey });

  t.test('create returns a message with its usage and its request ID', async (t) => {
    const message = await anthropic.messages.create({ model, ...question });
    t.match(message, {
      type: 'message',
      role: 'assistant',
      model,
      content: [{ type: 'text', text: /key/ }],
      stop_reason: 'end_turn',
    });
    t.ok(message.usage.input_tokens > 0 && message.usage.output_tokens > 0);
    t.match(message._request_id, /^[0-9a-f-]{36}$/);
  });

  t.test('a Bearer token also authenticates', async (t) => {
    const bearer = new Anthropic({ baseURL: baseOf(parley), apiKey: null, authToken: apiKey });
    t.equal((await bearer.messages.create({ model, ...question })).stop_reason, 'end_turn');
  });

  t.test('the stream helper returns the same message in pieces', async (t) => {
    const whole = await anthropic.messages.create({ model, ...question });
    const stream = anthropic.messages.stream({ model, ...question });
    const pieces: string[] = [];
    const types: string[] = [];
    stream
      .on('text', (text) => void pieces.push(text))
      .on('streamEvent', ({ type }) => void types.push(type));
    const message = await stream.finalMessage();
    t.same(message.content, whole.content);
    t.same(message.usage, whole.usage);
    t.equal(message.stop_reason, whole.stop_reason);
    t.equal(pieces.join(''), await stream.finalText());
    t.ok(pieces.length > 1, 'more than one piece');
    t.same([types[0], types.at(-2), types.at(-1)], ['message_start', 'message_delta', 'message_stop']);
    t.match(stream.request_id, /^[0-9a-f-]{36}$/);
  });

  t.test('count_tokens returns the number of input tokens', async (t) => {
    const { input_tokens: tokens } = await anthropic.messages.countTokens({
      model,
      messages: ask('x'.repeat(40)),
    });
    t.equal(tokens, 10);
  });

  t.test('models are listed page by page, and retrieved by ID', async (t) => {
    const ids: string[] = [];
    for await (const { id } of anthropic.models.list({ limit: 1 })) ids.push(id);
    t.equal(ids[0], model);
    t.ok(ids.includes('claude-sonnet'), 'an alias');
    t.match(await anthropic.models.retrieve(model), { id: model, type: 'model', display_name: model });
    t.match(await anthropic.models.retrieve('claude-sonnet'), { id: model });
  });

  t.test('an alias that the operator configured selects the model', async (t) => {
    t.equal((await anthropic.messages.create({ ...question, model: 'claude-opus-4-5' })).model, model);
  });
}

/** The client throws its own error classes, with the service's codes. */
function errorTests(t: Test, Anthropic: Client, parley: Parley) {
  const { apiKey, model, narrowKey, spentKey, strangeKey } = parley;
  const cases = [
    ['RateLimitError', spentKey, {}, 429, { type: 'rate_limit_error', code: 'quotaExceeded' }],
    ['AuthenticationError', strangeKey, {}, 401, { type: 'authentication_error', code: 'invalidApiKey' }],
    ['PermissionDeniedError', narrowKey, {}, 403, { type: 'permission_error', code: 'insufficientScope' }],
    ['NotFoundError', apiKey, { model: 'claude' }, 404, { type: 'not_found_error', param: 'model' }],
    [
      'BadRequestError',
      apiKey,
      { temperature: 3 },
      400,
      { type: 'invalid_request_error', param: 'temperature' },
    ],
  ] as const;
  for (const [name, key, fields, status, expected] of cases)
    t.test(`${name} is thrown without a retry, whole and streamed`, async (t) => {
      let requests = 0;
      const anthropic = new Anthropic({
        baseURL: baseOf(parley),
        apiKey: key,
        fetch: (...args) => {
          requests += 1;
          return fetch(...args);
        },
      });
      for (const stream of [false, true]) {
        const { error } = await rejection(
          anthropic.messages.create({ model, ...question, ...fields, stream }),
        );
        if (!(error instanceof Anthropic[name])) return t.fail(String(error));
        t.match(error, { status, requestID: /^[0-9a-f-]{36}$/, type: expected.type });
        t.match(error.error, { type: 'error', error: expected, request_id: error.requestID });
        if (status === 429) t.match(error.headers.get('retry-after'), /^[1-9]\d*$/);
      }
      t.equal(requests, 2, 'the client does not retry');
    });
}

/** Tests that need a model that calls tools, or a slow one. */
function upstreamTests(t: Test, Anthropic: Client, parley: Parley, upstream: Upstream) {
  const { apiKey, model } = parley;
  const anthropic = new Anthropic({ baseURL: baseOf(parley), apiKey, maxRetries: 0 });
  const asked = { model, max_tokens: 1000, tools: [weather] };

  t.test('tools: the client sends the result back with the content blocks of the reply', async (t) => {
    const messages = ask('How is the weather?');
    for (const isStreamed of [false, true]) {
      const first = isStreamed
        ? await anthropic.messages.stream({ ...asked, messages }).finalMessage()
        : await anthropic.messages.create({ ...asked, messages });
      t.equal(first.stop_reason, 'tool_use');
      const call = first.content.find((block) => block.type === 'tool_use');
      t.match(call, { name: 'weather', input: { city: 'Paris' } });
      const second = await anthropic.messages.create({
        ...asked,
        messages: [
          ...messages,
          { role: 'assistant', content: first.content },
          {
            role: 'user',
            content: [{ type: 'tool_result', tool_use_id: call?.id ?? '', content: 'sunny' }],
          },
        ],
      });
      t.match(second.content, [{ type: 'text', text: 'The tool says: sunny' }]);
    }
  });

  t.test('thinking comes in signed blocks, whole and streamed, which the client can send back', async (t) => {
    const choice = (delta: object, finish: string | null = null) =>
      JSON.stringify({ choices: [{ index: 0, delta, finish_reason: finish }] });
    await upstream.configure({
      completion: {
        choices: [
          {
            index: 0,
            message: { role: 'assistant', reasoning_content: 'Hm.', content: 'Yes' },
            finish_reason: 'stop',
          },
        ],
      },
      events: [
        choice({ reasoning_content: 'Hm.' }),
        choice({ content: 'Yes' }),
        choice({}, 'stop'),
        '[DONE]',
      ],
    });
    const body = { ...question, model, thinking: { type: 'enabled' as const, budget_tokens: 1024 } };
    const whole = await anthropic.messages.create({ ...body, max_tokens: 2000 });
    const streamed = await anthropic.messages.stream({ ...body, max_tokens: 2000 }).finalMessage();
    t.match(whole.content, [
      { type: 'thinking', thinking: 'Hm.', signature: /./ },
      { type: 'text', text: 'Yes' },
    ]);
    t.same(streamed.content, whole.content);
    const messages = [
      ...body.messages,
      { role: 'assistant' as const, content: whole.content },
      ...ask('Sure?'),
    ];
    await anthropic.messages.create({ ...body, max_tokens: 2000, messages });
    const { last } = await upstream.calls();
    t.match((last.at(-1)?.body as { messages?: object[] } | undefined)?.messages?.[1], {
      reasoning_content: 'Hm.',
      content: 'Yes',
    });
  });

  t.test('structured output reaches the model', async (t) => {
    const schema = { type: 'object', properties: { answer: { type: 'string' } } };
    const { content } = await anthropic.messages.create({
      ...question,
      model,
      output_config: { format: { type: 'json_schema', schema } },
    });
    t.match(content, [{ text: /^\{"answer":/ }]);
    t.match((await upstream.onlyCall()).body, { response_format: { json_schema: { schema } } });
  });

  t.test('an interrupted stream throws an APIError', async (t) => {
    await upstream.configure({ chunks: 9, fault: 'truncate', faultAfter: 2 });
    const { error } = await rejection(anthropic.messages.stream({ ...question, model }).finalMessage());
    if (!(error instanceof Anthropic.APIError)) return t.fail(String(error));
    t.match(error.error, {
      type: 'error',
      error: { type: 'api_error', code: 'upstreamError', charged: true },
    });
  });

  t.test('the client retries when the upstream is overloaded', async (t) => {
    await upstream.configure({ fault: 'status', status: 429, faultTimes: 1 });
    const retrying = new Anthropic({ baseURL: baseOf(parley), apiKey, maxRetries: 1 });
    t.equal((await retrying.messages.create({ ...question, model })).stop_reason, 'end_turn');
    t.equal((await upstream.calls()).chat, 2);
  });

  t.test('abort: the upstream request is aborted within a second', async (t) => {
    const stream = await anthropic.messages.create({
      ...question,
      model,
      max_tokens: 100_000,
      stream: true,
      metadata: { user_id: SLOW },
    });
    let since = 0;
    let pieces = 0;
    for await (const event of stream) {
      if (event.type !== 'content_block_delta' || ++pieces !== 5) continue;
      since = Date.now();
      stream.controller.abort();
    }
    const ms = await abortSeen(upstream, since);
    t.ok(ms < 1000, `after ${ms} ms`);
  });
}

const clients: [string, Client][] = [
  ['anthropic 0', Anthropic],
  ['anthropic 1', NewestAnthropic as unknown as Client],
];

for (const [name, Anthropic] of clients) {
  t.test(`${name}, with an upstream`, async (t) => {
    const { parley, upstream } = await withUpstream(t, 'postgres', {
      CHAT_MODEL_ALIASES: 'claude-sonnet=test-model,claude-*=test-model',
    });
    commonTests(t, Anthropic, parley);
    errorTests(t, Anthropic, parley);
    upstreamTests(t, Anthropic, parley, upstream);
  });
}

t.test('anthropic 0, with the built-in engine', async (t) => {
  const parley = await onItsOwn(t, 'embedded', {
    CHAT_MODEL_ALIASES: 'claude-sonnet=parley-builtin,claude-*=parley-builtin',
  });
  commonTests(t, Anthropic, parley);
  errorTests(t, Anthropic, parley);
});
