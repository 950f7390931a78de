import {
  type AIMessageChunk,
  HumanMessage,
  type ToolMessage,
  type UsageMetadata,
} from '@langchain/core/messages';
import { tool } from '@langchain/core/tools';
import { ChatOpenAI, type ChatOpenAIFields } from '@langchain/openai';
import t, { type Test } from 'tap';
import { z } from 'zod';
import type { Upstream } from '../support/upstream/client.ts';
import { abortSeen, onItsOwn, type Parley, rejection, SLOW, withUpstream } from './parley.ts';

const chatWith = (parley: Parley, fields: ChatOpenAIFields = {}) =>
  new ChatOpenAI({
    model: parley.model,
    apiKey: parley.apiKey,
    configuration: { baseURL: parley.baseURL },
    ...fields,
  });

/** `exactOptionalPropertyTypes` loses the type of the field. */
const usageOf = (message: AIMessageChunk) => message.usage_metadata as UsageMetadata | undefined;

const question = 'How do I create a key?';

/** Tests that pass with any engine. */
function commonTests(t: Test, parley: Parley) {
  const chat = chatWith(parley);

  t.test('invoke returns the reply with its usage', async (t) => {
    const message = await chat.invoke(question);
    t.match(message, { text: /key/, response_metadata: { finish_reason: 'stop' } });
    const { input_tokens: input = 0, output_tokens: output = 0 } = usageOf(message) ?? {};
    t.ok(input > 0 && output > 0);
  });

  t.test('stream returns the same text in pieces, and usage once', async (t) => {
    const whole = await chat.invoke(question);
    const pieces: string[] = [];
    const usages: number[] = [];
    for await (const chunk of await chat.stream(question)) {
      if (chunk.text !== '') pieces.push(chunk.text);
      const usage = usageOf(chunk);
      if (usage !== undefined) usages.push(usage.total_tokens);
    }
    t.equal(pieces.join(''), whole.text);
    t.ok(pieces.length > 1, 'more than one piece');
    t.same(usages, [usageOf(whole)?.total_tokens]);
  });
}

/** LangChain throws the OpenAI client's errors, with the service's codes. With default settings, it does not retry. */
function errorTests(t: Test, parley: Parley) {
  const cases: [string, ChatOpenAIFields, object][] = [
    ['429: the quota is spent', { apiKey: parley.spentKey }, { status: 429, code: 'quotaExceeded' }],
    ['401: the key does not exist', { apiKey: parley.strangeKey }, { status: 401, code: 'invalidApiKey' }],
    [
      '403: the key lacks the scope',
      { apiKey: parley.narrowKey },
      { status: 403, code: 'insufficientScope' },
    ],
    ['400: the error names the parameter', { n: 9 }, { status: 400, code: 'invalidRequest', param: 'n' }],
    ['404: no such model', { model: 'gpt-nope' }, { status: 404, code: 'notFound', param: 'model' }],
  ];
  for (const [title, fields, expected] of cases) {
    t.test(title, async (t) => {
      const chat = chatWith(parley, fields);
      for (const call of [() => chat.invoke(question), () => chat.stream(question)]) {
        const { error, ms } = await rejection(call());
        t.match(error, expected);
        t.ok(ms < 20_000, `after ${ms} ms`);
      }
    });
  }
}

/** Tests that need a model that calls tools, or a slow one. */
function upstreamTests(t: Test, parley: Parley, upstream: Upstream) {
  const weather = tool(async ({ city }: { city: string }) => `sunny in ${city}`, {
    name: 'weather',
    description: 'The weather of a city.',
    schema: z.object({ city: z.string() }),
  });

  t.test('bindTools: the model calls the tool, and the reply uses its result', async (t) => {
    const chat = chatWith(parley).bindTools([weather]);
    const asked = new HumanMessage('How is the weather?');
    const answer = await chat.invoke([asked]);
    const [call] = answer.tool_calls ?? [];
    t.match(call, { name: 'weather', args: { city: 'Paris' } });
    if (call === undefined) return;
    const told: ToolMessage = await weather.invoke({ ...call, type: 'tool_call' });
    t.equal((await chat.invoke([asked, answer, told])).text, 'The tool says: sunny in Paris');
  });

  t.test('bindTools: the chunks of a streamed call add up to the whole call', async (t) => {
    const stream = await chatWith(parley).bindTools([weather]).stream('How is the weather?');
    let whole: Awaited<ReturnType<typeof stream.next>>['value'];
    for await (const chunk of stream) whole = whole === undefined ? chunk : whole.concat(chunk);
    t.match(whole?.tool_calls, [{ name: 'weather', args: { city: 'Paris' } }]);
  });

  t.test('abort: the upstream request is aborted within a second', async (t) => {
    const controller = new AbortController();
    const stream = await chatWith(parley, { user: SLOW }).stream(question, { signal: controller.signal });
    let since = 0;
    let pieces = 0;
    const { error } = await rejection(
      (async () => {
        for await (const _ of stream) {
          pieces += 1;
          if (pieces !== 5) continue;
          since = Date.now();
          controller.abort();
        }
      })(),
    );
    t.match(error, { name: 'AbortError' });
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
