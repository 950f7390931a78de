import { Ajv } from 'ajv';
import addFormats from 'ajv-formats';
import t from 'tap';
import * as chunks from '../../schemas/completion-chunks.ts';
import { components } from '../../schemas/index.ts';
import { estimateTokens } from '../../src/engines/builtin/chat.ts';
import type { CompletionChunk, CompletionInput } from '../../src/engines/types.ts';
import { onEachDatabase } from '../support/service.ts';

const signal = new AbortController().signal;

const ajv = new Ajv({ strict: false, allErrors: true });
addFormats.default(ajv);
ajv.addFormat('int64', true);
for (const component of [...components, ...Object.values(chunks)]) {
  if (!ajv.getSchema(component.$id ?? '')) ajv.addSchema(component);
}
const fits = (component: string, value: unknown): string | null =>
  ajv.validate({ $ref: `${component}#` }, value) ? null : ajv.errorsText(ajv.errors);

onEachDatabase(t, {}, async (t, { app: { engines } }) => {
  const complete = (content: string, input: Partial<CompletionInput> = {}) =>
    engines.chat.complete(
      { model: 'parley-builtin', messages: [{ role: 'user', content }], ...input },
      signal,
    );
  const reply = async (content: string) => (await complete(content)).choices[0]?.message.content ?? '';
  const collected = async (input: CompletionInput) => {
    const all: CompletionChunk[] = [];
    for await (const chunk of engines.chat.stream(input, signal)) all.push(chunk);
    return all;
  };

  await t.test('chat: a completion matches its documented schema', async (t) => {
    const completion = await complete('How do I create a key?');
    t.equal(fits('Completion', completion), null);
    t.match(completion.id, /^chatcmpl-[0-9a-f]{32}$/);
    t.match(completion.system_fingerprint, /^fp_[0-9a-f]{10}$/);
    t.match(completion.choices, [
      { index: 0, message: { role: 'assistant', refusal: null }, logprobs: null, finish_reason: 'stop' },
    ]);
    const tokens = estimateTokens(completion.choices[0]?.message.content ?? '');
    t.same(completion.usage, { prompt_tokens: 6, completion_tokens: tokens, total_tokens: 6 + tokens });
  });

  await t.test('chat: n choices are identical, and usage counts each of them', async (t) => {
    const [one, three] = [await complete('quota reset'), await complete('quota reset', { n: 3 })];
    t.same(
      three.choices.map(({ index }) => index),
      [0, 1, 2],
    );
    for (const { message } of three.choices) t.equal(message.content, one.choices[0]?.message.content);
    t.equal(three.usage.completion_tokens, 3 * one.usage.completion_tokens);
    t.equal(three.usage.prompt_tokens, one.usage.prompt_tokens);
  });

  await t.test('chat: the token limit ends the reply at a word boundary', async (t) => {
    const whole = await reply('quota reset');
    for (const limit of [
      { max_tokens: 20 },
      { max_completion_tokens: 20 },
      { max_tokens: 500, max_completion_tokens: 20 },
    ]) {
      const { choices, usage } = await complete('quota reset', limit);
      const text = choices[0]?.message.content ?? '';
      t.equal(choices[0]?.finish_reason, 'length');
      t.ok(usage.completion_tokens <= 20 && usage.completion_tokens > 15, String(usage.completion_tokens));
      t.ok(whole.startsWith(text) && /\s/.test(whole.charAt(text.length)), text);
    }
    t.equal((await complete('quota reset', { max_tokens: 10_000 })).choices[0]?.finish_reason, 'stop');
    t.equal((await complete('quota reset', { max_tokens: null })).choices[0]?.finish_reason, 'stop');
  });

  await t.test('chat: a stream delivers the same content as a completion', async (t) => {
    const input: CompletionInput = {
      model: 'parley-builtin',
      messages: [{ role: 'user', content: 'quota reset' }],
      n: 2,
    };
    const [completion, all] = [await engines.chat.complete(input, signal), await collected(input)];
    for (const chunk of all) t.equal(fits('CompletionChunk', chunk), null);
    t.equal(new Set(all.map(({ id }) => id)).size, 1);
    for (const { finish_reason: finishReason, index, message } of completion.choices) {
      const pieces = all.flatMap(({ choices }) => choices).filter((choice) => choice.index === index);
      t.equal(pieces[0]?.delta.role, 'assistant');
      t.equal(pieces.map(({ delta }) => delta.content ?? '').join(''), message.content);
      t.ok(pieces.length > 50, 'word by word');
      t.strictSame(pieces.map((piece) => piece.finish_reason).filter(Boolean), [finishReason]);
    }
    t.strictSame(all.at(-1)?.choices, []);
    t.same(all.at(-1)?.usage, completion.usage);
  });

  await t.test('chat: aborting the signal ends the stream with AbortError', async (t) => {
    const controller = new AbortController();
    const input: CompletionInput = {
      model: 'parley-builtin',
      messages: [{ role: 'user', content: 'quota reset' }],
    };
    let received = 0;
    const reading = (async () => {
      for await (const _ of engines.chat.stream(input, controller.signal))
        if (++received === 5) controller.abort();
    })();
    await t.rejects(reading, { name: 'AbortError' });
    t.equal(received, 5);
    await t.rejects(engines.chat.complete(input, controller.signal), { name: 'AbortError' });
  });
});
