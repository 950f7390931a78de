/** Random conversations, in the words of each API. */
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

/** `files` are images and documents in the result. */
export type Call = {
  id: string;
  name: string;
  args: Record<string, unknown>;
  result: string;
  files: Part[];
};
/** `seal` is of reasoning that only the model that wrote it can read. */
export type Thought = { text: string; seal: Seal | undefined };
/** `title` is of a PDF document. */
export type Part = { text: string } | { image: string } | { pdf: string; title: string };
export type Turn = {
  /** What the user says. Empty if the model goes on after the results of its tools. */
  parts: Part[];
  /** What the system says after it. May be empty. */
  reminder: string;
  thoughts: Thought[];
  /** Empty if the model only calls tools. */
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

const file: fc.Arbitrary<Part> = fc.oneof(
  base64.map((image) => ({ image })),
  fc.record({ pdf: base64, title: words }),
);
const files = fc.oneof({ weight: 3, arbitrary: fc.constant<Part[]>([]) }, fc.array(file, { maxLength: 2 }));

export const callsArbitrary = fc
  .array(fc.record({ name, args, result: words, files }), { maxLength: 3 })
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

/** A model seals all that it thinks, or nothing. */
export const thoughts: fc.Arbitrary<Thought[]> = fc.oneof(
  fc.constant<Thought[]>([]),
  thought.map((one) => [one]),
  fc.array(
    thought.filter(({ seal }) => seal !== undefined),
    { minLength: 2, maxLength: 3 },
  ),
);

/** As chat completions say it. */
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
  // Texts of one message are joined.
  { maxLength: 3, selector: (part) => ('text' in part ? 'text' : JSON.stringify(part)) },
);
const turn: fc.Arbitrary<Turn> = fc
  .record({ parts, reminder: maybe, thoughts, answer: maybe, calls: callsArbitrary })
  .filter(({ answer, calls }) => answer !== '' || calls.length > 0);

/** Only after the results of tools can a model go on without its user. */
const withUsers = (turns: readonly Turn[]): Turn[] =>
  turns.map((given, index) =>
    given.parts.length > 0 || (turns[index - 1]?.calls.length ?? 0) > 0
      ? given
      : { ...given, parts: [{ text: 'Go on.' }] },
  );
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

/** The files in the results of tools, which have no place there: with a heading, in what the user says next. */
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

/** As a client of chat completions says it. */
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

/** As a client of the Responses API says it. */
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

/** The files in the results of tools, as a request of the Responses API has them. */
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

/** As a client of the Messages API says it: results of tools are in the next message of the user. */
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

/** The same as a request of the Messages API has them. */
export const resultFilesInMessages = (turns: readonly Turn[]): object[] =>
  turns.flatMap(({ calls }) => calls.flatMap(({ files }) => files.map(partInMessages)));

/** A conversation without what only the Responses and Messages APIs can say. */
export const inWordsOfCompletions = ({ system, turns }: Talk): Talk => ({
  system,
  turns: turns.map((given) => ({ ...given, calls: given.calls.map((call) => ({ ...call, files: [] })) })),
});

/** A conversation as it is left by an API whose only system message is the first. */
export const withRemindersOfUser = ({ system, turns }: Talk): Talk => ({
  system,
  turns: turns.map(({ reminder, ...given }, index) => {
    if (reminder === '') return { ...given, reminder };
    const text = reminderOf(reminder);
    const [first] = given.parts;
    const isText = given.parts.length === 1 && first !== undefined && 'text' in first;
    // Texts are joined if there is nothing else.
    const hasOthers = turns[index - 1]?.calls.some(({ files }) => files.length > 0);
    const parts = isText && !hasOthers ? [{ text: `${first.text}\n\n${text}` }] : [...given.parts, { text }];
    return { ...given, parts, reminder: '' };
  }),
});

/** A conversation as it is left by an upstream that rejects the reasoning of others, and text without their proof. */
export const withThoughtsOf = (format: string, { system, turns }: Talk): Talk => ({
  system,
  turns: turns.map((given) => ({
    ...given,
    thoughts: given.thoughts.filter(({ seal }) => seal?.format === format),
  })),
});
