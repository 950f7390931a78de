/** Random conversations, in the format of each API. */
import fc from 'fast-check';
import {
  detailOf,
  MESSAGES_FORMAT,
  RESPONSES_FORMAT,
  type Seal,
  writtenSeal,
} from '../../src/engines/reasoning-details.ts';
import { reminderOf } from '../../src/engines/system-messages.ts';
import type { ResponseBody } from '../../src/surfaces/response-request.ts';

/** A tool call with its result. `files` are the images and documents in the result. */
export type Call = {
  id: string;
  name: string;
  args: Record<string, unknown>;
  result: string;
  files: Part[];
};
/** Reasoning of a model. `seal` is the signature or the encrypted content that only that model can read. */
export type Thought = { text: string; seal: Seal | undefined };
/** A part of a message: text, an image, or a PDF document with its title. */
export type Part = { text: string } | { image: string } | { pdf: string; title: string };
export type Turn = {
  /** The user's message. Empty if the model continues after the results of its tools. */
  parts: Part[];
  /** A system message after the user's. May be empty. */
  reminder: string;
  thoughts: Thought[];
  /** The text of the model's reply. Empty if the model only calls tools. */
  answer: string;
  calls: Call[];
};
export type Talk = { system: string; turns: Turn[] };

const words = fc
  .string({ unit: 'grapheme', minLength: 1, maxLength: 20 })
  // Anthropic rejects text without a visible character.
  .filter((text) => text.isWellFormed() && text.trim() !== '');
/** Random text, which may be empty. */
export const maybe = fc.oneof(fc.constant(''), words);
const base64 = fc
  .uint8Array({ minLength: 1, maxLength: 9 })
  .map((bytes) => Buffer.from(bytes).toString('base64'));
const args = fc.dictionary(fc.constantFrom('city', 'days', 'deep'), fc.jsonValue({ maxDepth: 2 }));
const name = fc.constantFrom('weather', 'map', 'search_web');

const file: fc.Arbitrary<Part> = fc.oneof(
  base64.map((image) => ({ image })),
  fc.record({ pdf: base64, title: words }),
);
const files = fc.oneof({ weight: 3, arbitrary: fc.constant<Part[]>([]) }, fc.array(file, { maxLength: 2 }));

/** Up to three random tool calls with results. */
export const callsArbitrary = fc
  .array(fc.record({ name, args, result: words, files }), { maxLength: 3 })
  .map((calls) => calls.map((call, index) => ({ ...call, id: `call_${index}` })));

const opaque = fc.stringMatching(/^[A-Za-z0-9+/]{1,12}$/);
const sealed = (format: string, kind: Seal['kind']): fc.Arbitrary<Seal> =>
  fc.record({ format: fc.constant(format), kind: fc.constant(kind), value: opaque });
/** A random thought, with or without a seal. */
export const thought: fc.Arbitrary<Thought> = fc.oneof(
  fc.record({ text: words, seal: fc.constant(undefined) }),
  fc.record({ text: words, seal: sealed(MESSAGES_FORMAT, 'signature') }),
  fc.record({ text: fc.constant(''), seal: sealed(MESSAGES_FORMAT, 'data') }),
  fc.record({ text: maybe, seal: sealed(RESPONSES_FORMAT, 'data') }),
);

/** Random reasoning. A model seals all of its thoughts, or none. */
export const thoughts: fc.Arbitrary<Thought[]> = fc.oneof(
  fc.constant<Thought[]>([]),
  thought.map((one) => [one]),
  fc.array(
    thought.filter(({ seal }) => seal !== undefined),
    { minLength: 2, maxLength: 3 },
  ),
);

/** The reasoning as fields of a message in chat completions. */
export function reasoningFields(given: readonly Thought[]) {
  const texts = given.map(({ text }) => text).filter((text) => text !== '');
  const sealed = given.flatMap(({ seal, text }) => (seal === undefined ? [] : [detailOf({ seal, text })]));
  return {
    ...(texts.length > 0 && { reasoning_content: texts.join('\n\n') }),
    ...(sealed.length > 0 && { reasoning_details: sealed }),
  };
}

const parts: fc.Arbitrary<Part[]> = fc.uniqueArray<Part, string>(
  fc.oneof(
    words.map((text) => ({ text })),
    file,
  ),
  // The texts of a message are joined.
  { maxLength: 3, selector: (part) => ('text' in part ? 'text' : JSON.stringify(part)) },
);
const turn: fc.Arbitrary<Turn> = fc
  .record({ parts, reminder: maybe, thoughts, answer: maybe, calls: callsArbitrary })
  .filter(({ answer, calls }) => answer !== '' || calls.length > 0);

/** Adds a user message where one is required: a model can continue without it only after the results of tools. */
const withUsers = (turns: readonly Turn[]): Turn[] =>
  turns.map((given, index) =>
    given.parts.length > 0 || (turns[index - 1]?.calls.length ?? 0) > 0
      ? given
      : { ...given, parts: [{ text: 'Go on.' }] },
  );
/** A random conversation. */
export const talk: fc.Arbitrary<Talk> = fc.record({
  system: maybe,
  turns: fc.array(turn, { minLength: 1, maxLength: 4 }).map(withUsers),
});

const imageUrl = (data: string) => `data:image/png;base64,${data}`;

const pdfUrl = (data: string) => `data:application/pdf;base64,${data}`;

function partInCompletions(part: Part): object {
  if ('text' in part) return { type: 'text', text: part.text };
  if ('image' in part) return { type: 'image_url', image_url: { url: imageUrl(part.image) } };
  return { type: 'file', file: { file_data: pdfUrl(part.pdf), filename: part.title } };
}

/** Files in the results of tools. Chat completions allow them only in the next user message, under a heading. */
const moved = ({ calls }: Turn): object[] =>
  calls.flatMap(({ files, id }) => {
    const kind = files.some((one) => 'pdf' in one) ? 'Files' : 'Images';
    const heading = { type: 'text', text: `${kind} in the result of ${id}:` };
    return files.length === 0 ? [] : [heading, ...files.map(partInCompletions)];
  });

function userInCompletions(given: readonly Part[], before: Turn | undefined): object[] {
  const content = [...(before === undefined ? [] : moved(before)), ...given.map(partInCompletions)];
  if (content.length === 0) return [];
  const [first] = given;
  const isText = content.length === 1 && first !== undefined && 'text' in first;
  return [{ role: 'user', content: isText ? first.text : content }];
}

const reminderMessage = (text: string): object[] => (text === '' ? [] : [{ role: 'system', content: text }]);

/** The conversation in the format of chat completions. */
export const inCompletions = ({ system, turns }: Talk): object[] => [
  ...(system === '' ? [] : [{ role: 'system', content: system }]),
  ...turns.flatMap((given, index) => [
    ...userInCompletions(given.parts, turns[index - 1]),
    ...reminderMessage(given.reminder),
    {
      role: 'assistant',
      content: given.answer === '' ? null : given.answer,
      ...reasoningFields(given.thoughts),
      ...(given.calls.length > 0 && {
        tool_calls: given.calls.map((call) => ({
          id: call.id,
          type: 'function',
          function: { name: call.name, arguments: JSON.stringify(call.args) },
        })),
      }),
    },
    ...given.calls.map(({ id, result }) => ({ role: 'tool', tool_call_id: id, content: result })),
  ]),
  ...userInCompletions([], turns.at(-1)),
];

function partInResponses(part: Part): object {
  if ('text' in part) return { type: 'input_text', text: part.text };
  if ('image' in part) return { type: 'input_image', image_url: imageUrl(part.image) };
  return { type: 'input_file', file_data: pdfUrl(part.pdf), filename: part.title };
}

/** The conversation in the format of the Responses API. */
export const inResponses = ({ system, turns }: Talk): ResponseBody => ({
  ...(system !== '' && { instructions: system }),
  input: turns.flatMap((given, index) => [
    ...(given.parts.length === 0
      ? []
      : [{ type: 'message', role: 'user', content: given.parts.map(partInResponses) }]),
    ...(given.reminder === ''
      ? []
      : [{ type: 'message', role: index % 2 ? 'developer' : 'system', content: given.reminder }]),
    ...given.thoughts.map(({ seal, text }, place) => ({
      type: 'reasoning',
      id: `rs_${index}_${place}`,
      summary: text === '' ? [] : [{ type: 'summary_text', text }],
      ...(seal && { encrypted_content: writtenSeal(seal, RESPONSES_FORMAT) }),
    })),
    ...(given.answer === ''
      ? []
      : [
          {
            type: 'message',
            role: 'assistant',
            content: [{ type: 'output_text', text: given.answer, annotations: [] }],
          },
        ]),
    ...given.calls.map((call) => ({
      type: 'function_call',
      call_id: call.id,
      name: call.name,
      arguments: JSON.stringify(call.args),
    })),
    ...given.calls.map(({ files, id, result }) => ({
      type: 'function_call_output',
      call_id: id,
      output:
        files.length === 0 ? result : [{ type: 'input_text', text: result }, ...files.map(partInResponses)],
    })),
  ]),
});

/** The files in the results of tools, in the format of the Responses API. */
export const resultFilesInResponses = (turns: readonly Turn[]): object[] =>
  turns.flatMap(({ calls }) => calls.flatMap(({ files }) => files.map(partInResponses)));

function partInMessages(part: Part): object {
  if ('text' in part) return { type: 'text', text: part.text };
  if ('image' in part)
    return { type: 'image', source: { type: 'base64', media_type: 'image/png', data: part.image } };
  const source = { type: 'base64', media_type: 'application/pdf', data: part.pdf };
  return { type: 'document', source, title: part.title };
}

function thinkingBlock({ seal, text }: Thought) {
  const written = seal === undefined ? 'parley' : writtenSeal(seal, MESSAGES_FORMAT);
  return seal?.kind === 'data' && seal.format === MESSAGES_FORMAT
    ? { type: 'redacted_thinking', data: written }
    : { type: 'thinking', thinking: text, signature: written };
}

/** The conversation in the format of the Messages API, with the results of tools in the next user message. */
export function inMessages({ system, turns }: Talk) {
  const results = (calls: readonly Call[]) =>
    calls.map(({ files, id, result }) => ({
      type: 'tool_result',
      tool_use_id: id,
      content: files.length === 0 ? result : [{ type: 'text', text: result }, ...files.map(partInMessages)],
    }));
  const last = turns.at(-1)?.calls ?? [];
  return {
    max_tokens: 100,
    ...(system !== '' && { system: [{ type: 'text', text: system, cache_control: { type: 'ephemeral' } }] }),
    messages: [
      ...turns.flatMap((given, index) => [
        {
          role: 'user',
          content: [...results(turns[index - 1]?.calls ?? []), ...given.parts.map(partInMessages)],
        },
        ...reminderMessage(given.reminder),
        {
          role: 'assistant',
          content: [
            ...given.thoughts.map(thinkingBlock),
            ...(given.answer === '' ? [] : [{ type: 'text', text: given.answer }]),
            ...given.calls.map((call) => ({
              type: 'tool_use',
              id: call.id,
              name: call.name,
              input: call.args,
            })),
          ],
        },
      ]),
      ...(last.length > 0 ? [{ role: 'user', content: results(last) }] : []),
    ],
  };
}

/** The files in the results of tools, in the format of the Messages API. */
export const resultFilesInMessages = (turns: readonly Turn[]): object[] =>
  turns.flatMap(({ calls }) => calls.flatMap(({ files }) => files.map(partInMessages)));

/** The conversation without the parts that chat completions cannot express. */
export const inWordsOfCompletions = ({ system, turns }: Talk): Talk => ({
  system,
  turns: turns.map((given) => ({ ...given, calls: given.calls.map((call) => ({ ...call, files: [] })) })),
});

/** The conversation for an API that allows a system message only at the start: reminders move to user messages. */
export const withRemindersOfUser = ({ system, turns }: Talk): Talk => ({
  system,
  turns: turns.map(({ reminder, ...given }, index) => {
    if (reminder === '') return { ...given, reminder };
    const text = reminderOf(reminder);
    const [first] = given.parts;
    const isText = given.parts.length === 1 && first !== undefined && 'text' in first;
    // Texts are joined if the message has no other parts.
    const hasOthers = turns[index - 1]?.calls.some(({ files }) => files.length > 0);
    const parts = isText && !hasOthers ? [{ text: `${first.text}\n\n${text}` }] : [...given.parts, { text }];
    return { ...given, parts, reminder: '' };
  }),
});

/** The conversation for an upstream that rejects unsigned reasoning and reasoning of other vendors. */
export const withThoughtsOf = (format: string, { system, turns }: Talk): Talk => ({
  system,
  turns: turns.map((given) => ({
    ...given,
    thoughts: given.thoughts.filter(({ seal }) => seal?.format === format),
  })),
});
