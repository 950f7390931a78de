import OpenAI from 'openai';
import t, { type Test } from 'tap';
import type { Upstream } from '../support/upstream/client.ts';
import { abortSeen, isPng, onItsOwn, type Parley, rejection, SLOW, withUpstream } from './parley.ts';

type Client = typeof OpenAI;

const ask = (content: string) => [{ role: 'user' as const, content }];
const weather = {
  type: 'function' as const,
  function: {
    name: 'weather',
    description: 'The weather of a city.',
    parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
  },
};

/** Tests that pass with any engine. */
function commonTests(t: Test, OpenAI: Client, parley: Parley) {
  const { apiKey, baseURL, model } = parley;
  const openai = new OpenAI({ baseURL, apiKey });
  const messages = ask('How do I create a key?');
  const embeddingModel = model === 'parley-builtin' ? 'parley-builtin-embeddings' : 'embedder';

  t.test('chat returns a completion with its usage', async (t) => {
    const { choices, usage } = await openai.chat.completions.create({ model, messages });
    t.match(choices, [{ message: { role: 'assistant', content: /key/ }, finish_reason: 'stop' }]);
    t.ok((usage?.prompt_tokens ?? 0) > 0 && (usage?.completion_tokens ?? 0) > 0);
  });

  t.test('streamed chat returns the text in pieces, without usage by default', async (t) => {
    const whole = await openai.chat.completions.create({ model, messages });
    const stream = await openai.chat.completions.create({ model, messages, stream: true });
    const pieces: string[] = [];
    let finish: string | null | undefined;
    for await (const { choices, usage } of stream) {
      t.notOk(usage);
      t.equal(choices.length, 1);
      pieces.push(choices[0]?.delta.content ?? '');
      finish = choices[0]?.finish_reason ?? finish;
    }
    t.equal(pieces.join(''), whole.choices[0]?.message.content);
    t.ok(pieces.filter((piece) => piece !== '').length > 1, 'more than one piece');
    t.equal(finish, 'stop');
  });

  t.test('streamed chat returns usage in the last chunk with include_usage', async (t) => {
    const whole = await openai.chat.completions.create({ model, messages });
    const stream = await openai.chat.completions.create({
      model,
      messages,
      stream: true,
      stream_options: { include_usage: true },
    });
    const chunks = [];
    for await (const chunk of stream) chunks.push(chunk);
    const last = chunks.pop();
    t.same(last?.choices, []);
    t.equal(last?.usage?.total_tokens, whole.usage?.total_tokens);
    t.ok(chunks.every(({ usage }) => usage === null || usage === undefined));
  });

  t.test('models are listed, and retrieved by ID', async (t) => {
    const ids = [];
    for await (const { id } of openai.models.list()) ids.push(id);
    t.equal(ids[0], model);
    t.match(await openai.models.retrieve(model), { id: model, object: 'model' });
  });

  t.test('embeddings return one vector per input, decoded from base64', async (t) => {
    const input = ['How do I create a key?', 'The quiet sea'];
    const { data, usage } = await openai.embeddings.create({ model: embeddingModel, input });
    const plain = await openai.embeddings.create({ model: embeddingModel, input, encoding_format: 'float' });
    t.same(
      data.map(({ index }) => index),
      [0, 1],
    );
    t.ok(data.every(({ embedding }) => embedding.length > 1 && embedding.every(Number.isFinite)));
    for (const [index, { embedding }] of plain.data.entries())
      for (const [place, value] of embedding.entries())
        if (Math.abs(value - (data[index]?.embedding[place] ?? Number.NaN)) > 1e-6)
          t.fail(`${index} ${place}`);
    t.notSame(data[0]?.embedding, data[1]?.embedding);
    t.ok(usage.prompt_tokens > 0);
  });

  t.test('generated images are PNG', async (t) => {
    const { data } = await openai.images.generate({ prompt: 'A quiet sea', n: 2 });
    t.equal(data?.length, 2);
    t.ok(data?.every(({ b64_json }) => isPng(b64_json)));
  });
}

/** The client throws its own error classes, with the service's codes. */
function errorTests(t: Test, OpenAI: Client, parley: Parley) {
  const { apiKey, baseURL, model, narrowKey, spentKey, strangeKey } = parley;
  const create = (key: string, fields: object = {}, send: typeof fetch = fetch) =>
    new OpenAI({ baseURL, apiKey: key, fetch: send }).chat.completions.create({
      model,
      messages: ask('Hello'),
      ...fields,
    });

  t.test('RateLimitError: the quota is spent, and the client does not retry', async (t) => {
    for (const stream of [false, true]) {
      let requests = 0;
      const counted: typeof fetch = (...request) => {
        requests += 1;
        return fetch(...request);
      };
      const { error } = await rejection(create(spentKey, { stream }, counted));
      if (!(error instanceof OpenAI.RateLimitError)) return t.fail(String(error));
      t.match(error, { status: 429, code: 'quotaExceeded', type: 'insufficient_quota' });
      t.match(error.headers.get('retry-after'), /^[1-9]\d*$/);
      t.equal(requests, 1);
    }
  });

  t.test('AuthenticationError: the key does not exist', async (t) => {
    const { error } = await rejection(create(strangeKey));
    t.ok(error instanceof OpenAI.AuthenticationError);
    t.match(error, { status: 401, code: 'invalidApiKey' });
  });

  t.test('PermissionDeniedError: the key lacks the scope', async (t) => {
    const { error } = await rejection(create(narrowKey));
    t.ok(error instanceof OpenAI.PermissionDeniedError);
    t.match(error, { status: 403, code: 'insufficientScope' });
  });

  t.test('BadRequestError: the error names the parameter', async (t) => {
    const { error } = await rejection(create(apiKey, { n: 9 }));
    t.ok(error instanceof OpenAI.BadRequestError);
    t.match(error, { status: 400, code: 'invalidRequest', param: 'n' });
  });

  t.test('NotFoundError: the model does not exist', async (t) => {
    const retrieve = () => new OpenAI({ baseURL, apiKey }).models.retrieve('gpt-nope');
    for (const call of [() => create(apiKey, { model: 'gpt-nope' }), retrieve]) {
      const { error } = await rejection(call());
      t.ok(error instanceof OpenAI.NotFoundError);
      t.match(error, { status: 404, code: 'notFound', param: 'model' });
    }
  });
}

/** Tests that need a model that calls tools, or a slow one. */
function upstreamTests(t: Test, OpenAI: Client, parley: Parley, upstream: Upstream) {
  const { apiKey, baseURL, model } = parley;
  const openai = new OpenAI({ baseURL, apiKey });

  t.test('abort: the upstream request is aborted within a second', async (t) => {
    const stream = await openai.chat.completions.create({
      model,
      messages: ask('Hello'),
      stream: true,
      user: SLOW,
    });
    let since = 0;
    let pieces = 0;
    for await (const _ of stream) {
      pieces += 1;
      if (pieces !== 5) continue;
      since = Date.now();
      stream.controller.abort();
    }
    const ms = await abortSeen(upstream, since);
    t.ok(ms < 1000, `after ${ms} ms`);
  });

  t.test('tools: the model calls the tool, and the reply uses its result', async (t) => {
    const question = ask('How is the weather?');
    const { choices } = await openai.chat.completions.create({ model, messages: question, tools: [weather] });
    const [call] = choices[0]?.message.tool_calls ?? [];
    t.match(call, { type: 'function', function: { name: 'weather', arguments: '{"city":"Paris"}' } });
    t.equal(choices[0]?.finish_reason, 'tool_calls');
    const { choices: second } = await openai.chat.completions.create({
      model,
      tools: [weather],
      messages: [
        ...question,
        ...choices.map(({ message }) => message),
        { role: 'tool', tool_call_id: call?.id ?? '', content: 'sunny' },
      ],
    });
    t.equal(second[0]?.message.content, 'The tool says: sunny');
  });

  t.test('streamed tools: the client runs the tool and sends its result', async (t) => {
    const cities: string[] = [];
    const runner = openai.chat.completions.runTools({
      model,
      stream: true,
      messages: ask('How is the weather?'),
      tools: [
        {
          type: 'function',
          function: {
            ...weather.function,
            parse: JSON.parse,
            function: ({ city }: { city: string }) => {
              cities.push(city);
              return 'sunny';
            },
          },
        },
      ],
    });
    t.equal(await runner.finalContent(), 'The tool says: sunny');
    t.same(cities, ['Paris']);
    t.equal((await upstream.calls()).chat, 2);
  });

  t.test('other parameters of the request reach the upstream', async (t) => {
    const { choices } = await openai.chat.completions.create({
      model,
      messages: ask('Hello'),
      logprobs: true,
      response_format: { type: 'json_object' },
    });
    t.same(JSON.parse(choices[0]?.message.content ?? ''), { answer: 'You said: Hello' });
    t.ok((choices[0]?.logprobs?.content?.length ?? 0) > 0);
  });
}

function clientTests(t: Test, OpenAI: Client) {
  t.test('with an upstream, on Postgres', async (t) => {
    const { parley, upstream } = await withUpstream(t, 'postgres');
    commonTests(t, OpenAI, parley);
    errorTests(t, OpenAI, parley);
    upstreamTests(t, OpenAI, parley, upstream);
  });
  t.test('with the built-in engine, on the embedded database', async (t) => {
    const parley = await onItsOwn(t, 'embedded');
    commonTests(t, OpenAI, parley);
    errorTests(t, OpenAI, parley);
  });
}

t.test('openai 6', async (t) => clientTests(t, OpenAI));

// The newest client requires Node.js 22: https://www.npmjs.com/package/openai, "engines".
if (Number(process.versions.node.split('.')[0]) >= 22) {
  const newest = (await import('openai-newest')) as unknown as { default: Client };
  t.test('the newest openai', async (t) => clientTests(t, newest.default));
}
