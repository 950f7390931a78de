import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { APICallError, generateImage, generateText, stepCountIs, streamText, tool } from 'ai';
import t, { type Test } from 'tap';
import { z } from 'zod';
import type { Upstream } from '../support/upstream/client.ts';
import { abortSeen, isPng, onItsOwn, type Parley, rejection, SLOW, withUpstream } from './parley.ts';

const provider = ({ apiKey, baseURL }: Pick<Parley, 'apiKey' | 'baseURL'>, includeUsage = false) =>
  createOpenAICompatible({ name: 'parley', baseURL, apiKey, includeUsage });

const prompt = 'How do I create a key?';

/** Tests that pass with any engine. */
function commonTests(t: Test, parley: Parley) {
  const model = provider(parley)(parley.model);

  t.test('generateText returns the reply with its usage', async (t) => {
    const { finishReason, text, usage } = await generateText({ model, prompt });
    t.match(text, /key/);
    t.equal(finishReason, 'stop');
    t.ok((usage.inputTokens ?? 0) > 0 && (usage.outputTokens ?? 0) > 0);
  });

  t.test('streamText returns the same text in pieces, with usage if requested', async (t) => {
    const whole = await generateText({ model, prompt });
    const stream = streamText({ model: provider(parley, true)(parley.model), prompt });
    const pieces: string[] = [];
    for await (const piece of stream.textStream) pieces.push(piece);
    t.equal(pieces.join(''), whole.text);
    t.ok(pieces.length > 1, 'more than one piece');
    t.equal(await stream.finishReason, 'stop');
    t.equal((await stream.usage).totalTokens, whole.usage.totalTokens);
  });

  t.test('generateImage returns PNG images', async (t) => {
    const { images } = await generateImage({
      model: provider(parley).imageModel('parley-builtin'),
      prompt: 'A quiet sea',
      n: 2,
    });
    t.equal(images.length, 2);
    t.ok(images.every(({ base64 }) => isPng(base64)));
  });
}

/** The SDK throws an APICallError with the service's code. */
function errorTests(t: Test, parley: Parley) {
  const { baseURL, model, narrowKey, spentKey, strangeKey } = parley;
  /** Uses the default settings, except for retries: the SDK retries a 429 twice and ignores `x-should-retry`. */
  const refusal = async (t: Test, apiKey: string, statusCode: number, error: object, named = model) => {
    const chat = provider({ apiKey, baseURL })(named);
    const retries = statusCode === 429 ? { maxRetries: 0 } : {};
    const refused = await rejection(generateText({ model: chat, prompt, ...retries }));
    if (!APICallError.isInstance(refused.error)) throw refused.error;
    t.equal(refused.error.statusCode, statusCode);
    t.match(JSON.parse(refused.error.responseBody ?? ''), { error });
    return refused.error;
  };

  t.test('429: the quota is spent, and Retry-After is set', async (t) => {
    const error = await refusal(t, spentKey, 429, { code: 'quotaExceeded' });
    t.match(error.responseHeaders, { 'retry-after': /^[1-9]\d*$/ });
  });
  t.test('401: the key does not exist', async (t) => {
    await refusal(t, strangeKey, 401, { code: 'invalidApiKey' });
  });
  t.test('403: the key lacks the scope', async (t) => {
    await refusal(t, narrowKey, 403, { code: 'insufficientScope' });
  });
  t.test('404: the model does not exist', async (t) => {
    await refusal(t, parley.apiKey, 404, { code: 'notFound', param: 'model' }, 'gpt-nope');
  });

  t.test('a refused stream reports an error instead of an empty text', async (t) => {
    const errors: unknown[] = [];
    const stream = streamText({
      model: provider({ apiKey: narrowKey, baseURL })(model),
      prompt,
      onError: ({ error }) => void errors.push(error),
    });
    await stream.consumeStream();
    t.match(errors, [{ statusCode: 403 }]);
  });
}

/** Tests that need a model that calls tools, or a slow one. */
function upstreamTests(t: Test, parley: Parley, upstream: Upstream) {
  const model = provider(parley)(parley.model);
  const cities: string[] = [];
  const tools = {
    weather: tool({
      description: 'The weather of a city.',
      inputSchema: z.object({ city: z.string() }),
      execute: async ({ city }) => {
        cities.push(city);
        return 'sunny';
      },
    }),
  };
  const asking = { model, tools, prompt: 'How is the weather?', stopWhen: stepCountIs(2) };

  t.test('tools: the SDK runs the tool, and the reply uses its result', async (t) => {
    cities.length = 0;
    const { steps, text } = await generateText(asking);
    t.equal(text, 'The tool says: sunny');
    t.equal(steps[0]?.finishReason, 'tool-calls');
    t.same(cities, ['Paris']);
  });

  t.test('streamed tools: the SDK runs the tool, and the reply uses its result', async (t) => {
    cities.length = 0;
    t.equal(await streamText(asking).text, 'The tool says: sunny');
    t.same(cities, ['Paris']);
  });

  t.test('abort: the upstream request is aborted within a second', async (t) => {
    const controller = new AbortController();
    const stream = streamText({
      model,
      prompt,
      abortSignal: controller.signal,
      providerOptions: { parley: { user: SLOW } },
    });
    let since = 0;
    let pieces = 0;
    for await (const _ of stream.textStream) {
      pieces += 1;
      if (pieces !== 5) continue;
      since = Date.now();
      controller.abort();
    }
    const ms = await abortSeen(upstream, since);
    t.ok(ms < 1000, `after ${ms} ms`);
  });
}

t.test('with an upstream, on Postgres', async (t) => {
  const { parley, upstream } = await withUpstream(t, 'postgres');
  commonTests(t, parley);
  errorTests(t, parley);
  upstreamTests(t, parley, upstream);
});

t.test('with the built-in engine, on the embedded database', async (t) => {
  const parley = await onItsOwn(t, 'embedded');
  commonTests(t, parley);
  errorTests(t, parley);
});
