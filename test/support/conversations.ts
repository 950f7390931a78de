/** Random conversations, in the words of each API. */
import fc from 'fast-check';
import {
  detailOf,
  MESSAGES_FORMAT,
  RESPONSES_FORMAT,
  type Seal,
  writtenSeal,
} from '../../src/engines/reasoning-details.ts';
import type { ResponseBody } from '../../src/surfaces/response-request.ts';

export type Call = { id: string; name: string; args: Record<string, unknown>; result: string };
/** `seal` is of reasoning that only the model that wrote it can read. */
export type Thought = { text: string; seal: Seal | undefined };
export type Turn = {
  text: string;
  image: string | undefined;
  thought: Thought | undefined;
  answer: string;
  calls: Call[];
};
export type Talk = { system: string; turns: Turn[] };

const words = fc
  .string({ unit: 'grapheme', minLength: 1, maxLength: 20 })
  // Anthropic refuses text without a visible character.
  .filter((text) => text.isWellFormed() && text.trim() !== '');
export const maybe = fc.oneof(fc.constant(''), words);
const base64 = fc
  .uint8Array({ minLength: 1, maxLength: 9 })
  .map((bytes) => Buffer.from(bytes).toString('base64'));
const args = fc.dictionary(fc.constantFrom('city', 'days', 'deep'), fc.jsonValue({ maxDepth: 2 }));
const name = fc.constantFrom('weather', 'map', 'search_web');

export const callsArbitrary = fc
  .array(fc.record({ name, args, result: words }), { maxLength: 3 })
  .map((calls) => calls.map((call, index) => ({ ...call, id: `call_${index}` })));

const opaque = fc.stringMatching(/^[A-Za-z0-9+/]{1,12}$/);
const sealed = (format: string, kind: Seal['kind']): fc.Arbitrary<Seal> =>
  fc.record({ format: fc.constant(format), kind: fc.constant(kind), value: opaque });
export const thought: fc.Arbitrary<Thought> = fc.oneof(
  fc.record({ text: words, seal: fc.constant(undefined) }),
  fc.record({ text: words, seal: sealed(MESSAGES_FORMAT, 'signature') }),
  fc.record({ text: fc.constant(''), seal: sealed(MESSAGES_FORMAT, 'data') }),
  fc.record({ text: maybe, seal: sealed(RESPONSES_FORMAT, 'data') }),
);

/** As chat completions say it. */
export const reasoningFields = (given: Thought | undefined) => ({
  ...(given?.text && { reasoning_content: given.text }),
  ...(given?.seal && { reasoning_details: [detailOf({ text: given.text, seal: given.seal })] }),
});

const turn: fc.Arbitrary<Turn> = fc.record({
  text: words,
  image: fc.option(base64, { nil: undefined }),
  thought: fc.option(thought, { nil: undefined }),
  answer: words,
  calls: callsArbitrary,
});
export const talk: fc.Arbitrary<Talk> = fc.record({
  system: maybe,
  turns: fc.array(turn, { minLength: 1, maxLength: 4 }),
});

const imageUrl = (data: string) => `data:image/png;base64,${data}`;

/** As a client of chat completions says it. */
export const inCompletions = ({ system, turns }: Talk): object[] => [
  ...(system === '' ? [] : [{ role: 'system', content: system }]),
  ...turns.flatMap(({ answer, calls, image, text, thought: given }) => [
    {
      role: 'user',
      content:
        image === undefined
          ? text
          : [
              { type: 'text', text },
              { type: 'image_url', image_url: { url: imageUrl(image) } },
            ],
    },
    {
      role: 'assistant',
      content: answer,
      ...reasoningFields(given),
      ...(calls.length > 0 && {
        tool_calls: calls.map((call) => ({
          id: call.id,
          type: 'function',
          function: { name: call.name, arguments: JSON.stringify(call.args) },
        })),
      }),
    },
    ...calls.map(({ id, result }) => ({ role: 'tool', tool_call_id: id, content: result })),
  ]),
];

/** As a client of the Responses API says it. */
export const inResponses = ({ system, turns }: Talk): ResponseBody => ({
  ...(system !== '' && { instructions: system }),
  input: turns.flatMap(({ answer, calls, image, text, thought: given }, index) => [
    {
      type: 'message',
      role: 'user',
      content: [
        { type: 'input_text', text },
        ...(image === undefined ? [] : [{ type: 'input_image', image_url: imageUrl(image) }]),
      ],
    },
    ...(given === undefined
      ? []
      : [
          {
            type: 'reasoning',
            id: `rs_${index}`,
            summary: given.text === '' ? [] : [{ type: 'summary_text', text: given.text }],
            ...(given.seal && { encrypted_content: writtenSeal(given.seal, RESPONSES_FORMAT) }),
          },
        ]),
    { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: answer, annotations: [] }] },
    ...calls.map((call) => ({
      type: 'function_call',
      call_id: call.id,
      name: call.name,
      arguments: JSON.stringify(call.args),
    })),
    ...calls.map(({ id, result }) => ({ type: 'function_call_output', call_id: id, output: result })),
  ]),
});

function thinkingBlock({ seal, text }: Thought) {
  const written = seal === undefined ? 'parley' : writtenSeal(seal, MESSAGES_FORMAT);
  return seal?.kind === 'data' && seal.format === MESSAGES_FORMAT
    ? { type: 'redacted_thinking', data: written }
    : { type: 'thinking', thinking: text, signature: written };
}

/** As a client of the Messages API says it: results of tools are in the next message of the user. */
export function inMessages({ system, turns }: Talk) {
  const results = (calls: readonly Call[]) =>
    calls.map(({ id, result }) => ({ type: 'tool_result', tool_use_id: id, content: result }));
  const last = turns.at(-1)?.calls ?? [];
  return {
    max_tokens: 100,
    ...(system !== '' && { system: [{ type: 'text', text: system, cache_control: { type: 'ephemeral' } }] }),
    messages: [
      ...turns.flatMap(({ answer, calls, image, text, thought: given }, index) => [
        {
          role: 'user',
          content: [
            ...results(turns[index - 1]?.calls ?? []),
            { type: 'text', text },
            ...(image === undefined
              ? []
              : [{ type: 'image', source: { type: 'base64', media_type: 'image/png', data: image } }]),
          ],
        },
        {
          role: 'assistant',
          content: [
            ...(given === undefined ? [] : [thinkingBlock(given)]),
            { type: 'text', text: answer },
            ...calls.map((call) => ({ type: 'tool_use', id: call.id, name: call.name, input: call.args })),
          ],
        },
      ]),
      ...(last.length > 0 ? [{ role: 'user', content: results(last) }] : []),
    ],
  };
}

/** A conversation as it is left by an upstream that rejects the reasoning of others, and text without their proof. */
export const withThoughtsOf = (format: string, { system, turns }: Talk): Talk => ({
  system,
  turns: turns.map((given) => ({
    ...given,
    thought: given.thought?.seal?.format === format ? given.thought : undefined,
  })),
});
