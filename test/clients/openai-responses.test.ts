import OpenAI from 'openai';
import NewestOpenAI from 'openai-newest';
import t, { type Test } from 'tap';
import type { Upstream } from '../support/upstream/client.ts';
import { abortSeen, onItsOwn, type Parley, rejection, SLOW, withUpstream } from './parley.ts';

type Client = typeof OpenAI;

const input = 'How do I create a key?';
const weather = {
  type: 'function' as const,
  name: 'weather',
  description: 'The weather of a city.',
  strict: true,
  parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
};

/** Tests that pass with any engine. */
function commonTests(t: Test, OpenAI: Client, { apiKey, baseURL, model }: Parley) {
  const openai = new OpenAI({ baseURL, apiKey });

  t.test('create: a response with its usage can be retrieved, continued, and deleted', async (t) => {
    const response = await openai.responses.create({ model, input });
    t.match(response.output_text, /key/);
    t.ok((response.usage?.total_tokens ?? 0) > 0);
    const include = ['message.output_text.logprobs' as const];
    t.match(await openai.responses.retrieve(response.id, { include }), {
      id: response.id,
      output: response.output,
    });
    const items = [];
    for await (const item of openai.responses.inputItems.list(response.id, { limit: 1 })) items.push(item);
    t.match(items, [{ type: 'message', role: 'user', content: [{ type: 'input_text', text: input }] }]);
    const next = await openai.responses.create({ model, input: 'And?', previous_response_id: response.id });
    t.equal(next.previous_response_id, response.id);
    await openai.responses.delete(response.id);
    t.match((await rejection(openai.responses.retrieve(response.id))).error, {
      status: 404,
      code: 'notFound',
    });
  });

  t.test('the stream helper returns the same text in pieces, and the final response', async (t) => {
    const whole = await openai.responses.create({ model, input });
    const stream = openai.responses.stream({ model, input });
    const pieces: string[] = [];
    stream.on('response.output_text.delta', ({ delta }) => void pieces.push(delta));
    const final = await stream.finalResponse();
    t.equal(pieces.join(''), whole.output_text);
    t.ok(pieces.length > 1, 'more than one piece');
    t.equal(final.output_text, whole.output_text);
    t.equal(final.usage?.total_tokens, whole.usage?.total_tokens);
  });
}

/** The client throws errors with the service's codes. */
function errorTests(t: Test, OpenAI: Client, parley: Parley) {
  const { apiKey, baseURL, model, narrowKey, spentKey, strangeKey } = parley;
  const cases: [string, string, object, object][] = [
    ['429: the quota is spent', spentKey, {}, { status: 429, code: 'quotaExceeded' }],
    ['401: no such key', strangeKey, {}, { status: 401, code: 'invalidApiKey' }],
    ['403: the key lacks the scope', narrowKey, {}, { status: 403, code: 'insufficientScope' }],
    ['404: no such model', apiKey, { model: 'gpt-nope' }, { status: 404, code: 'notFound', param: 'model' }],
    ['400: the error names the parameter', apiKey, { temperature: 3 }, { status: 400, param: 'temperature' }],
  ];
  for (const [title, key, fields, expected] of cases)
    t.test(title, async (t) => {
      const openai = new OpenAI({ baseURL, apiKey: key });
      for (const stream of [false, true]) {
        const { error } = await rejection(openai.responses.create({ model, input, ...fields, stream }));
        t.match(error, expected);
      }
    });
}

/** Tests that need a model that calls tools, or a slow one. */
function upstreamTests(t: Test, OpenAI: Client, { apiKey, baseURL, model }: Parley, upstream: Upstream) {
  const openai = new OpenAI({ baseURL, apiKey });

  t.test('tools: the client sends the output back with the items of the response', async (t) => {
    const asked = { role: 'user' as const, content: 'How is the weather?' };
    const first = await openai.responses.create({ model, input: [asked], tools: [weather], store: false });
    const call = first.output.find((item) => item.type === 'function_call');
    t.match(call, { name: 'weather', arguments: '{"city":"Paris"}' });
    if (call === undefined) return;
    const result = { type: 'function_call_output' as const, call_id: call.call_id, output: 'sunny' };
    const second = await openai.responses.create({
      model,
      input: [asked, call, result],
      tools: [weather],
      store: false,
    });
    t.equal(second.output_text, 'The tool says: sunny');
  });

  t.test('streamed tools: the events add up to the whole call', async (t) => {
    const stream = openai.responses.stream({ model, input: 'How is the weather?', tools: [weather] });
    const { output } = await stream.finalResponse();
    t.match(output, [{ type: 'function_call', name: 'weather', arguments: '{"city":"Paris"}' }]);
  });

  t.test('structured output: the schema reaches the model, and the client parses the reply', async (t) => {
    const format = {
      type: 'json_schema' as const,
      name: 'answer',
      strict: true,
      schema: { type: 'object', properties: { answer: { type: 'string' } }, required: ['answer'] },
    };
    const { output_parsed: parsed } = await openai.responses.parse({
      model,
      input: 'Hello',
      text: { format },
    });
    t.same(parsed, { answer: 'You said: Hello' });
    const { body } = await upstream.onlyCall();
    t.match(body, {
      response_format: { type: 'json_schema', json_schema: { name: 'answer', strict: true } },
    });
  });

  t.test('an interrupted stream throws an error', async (t) => {
    await upstream.configure({ chunks: 9, fault: 'truncate', faultAfter: 2 });
    const stream = await openai.responses.create({ model, input, stream: true });
    const { error } = await rejection(
      (async () => {
        for await (const _ of stream);
      })(),
    );
    t.match(error, { code: 'upstreamError' });
  });

  t.test('abort: the upstream request is aborted within a second', async (t) => {
    const stream = await openai.responses.create({ model, input, stream: true, user: SLOW });
    let since = 0;
    let pieces = 0;
    for await (const event of stream) {
      if (event.type !== 'response.output_text.delta' || ++pieces !== 5) continue;
      since = Date.now();
      stream.controller.abort();
    }
    const ms = await abortSeen(upstream, since);
    t.ok(ms < 1000, `after ${ms} ms`);
  });
}

const clients: [string, Client][] = [
  ['openai 6', OpenAI],
  ['openai 7', NewestOpenAI as unknown as Client],
];

for (const [name, OpenAI] of clients) {
  t.test(`${name}, with an upstream`, async (t) => {
    const { parley, upstream } = await withUpstream(t, 'postgres');
    commonTests(t, OpenAI, parley);
    errorTests(t, OpenAI, parley);
    upstreamTests(t, OpenAI, parley, upstream);
  });
}

t.test('openai 6, with the built-in engine', async (t) => {
  const parley = await onItsOwn(t, 'embedded');
  commonTests(t, OpenAI, parley);
  errorTests(t, OpenAI, parley);
});
