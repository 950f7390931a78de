/** Random replies of models, and what clients of each API read in the responses. */
import fc from 'fast-check';
import {
  detailOf,
  MESSAGES_FORMAT,
  RESPONSES_FORMAT,
  readSeal,
  type Seal,
} from '../../src/engines/reasoning-details.ts';
import type { CompletionChunk, CompletionResult } from '../../src/engines/types.ts';
import {
  type Call,
  callsArbitrary,
  maybe,
  reasoningFields,
  type Thought,
  thoughts,
} from './conversations.ts';
import type { ServerEvent } from './event-reader.ts';
import type { Body } from './http.ts';

/** A reply of a model. The text or the calls may be missing, but not both. */
export type Answer = { thoughts: Thought[]; text: string; calls: Call[]; finish: 'stop' | 'length' };
/** Random replies. */
export const answer: fc.Arbitrary<Answer> = fc
  .record({
    thoughts,
    text: maybe,
    calls: callsArbitrary,
    finish: fc.constantFrom('stop' as const, 'length' as const),
  })
  .filter(({ calls, text }) => text !== '' || calls.length > 0);

/** The usage of every reply. */
export const tokens = { inputTokens: 5, outputTokens: 7 };
const finishOf = ({ calls, finish }: Answer) =>
  finish === 'stop' && calls.length > 0 ? 'tool_calls' : finish;
const toolCall = ({ args, id, name }: Call, index: number) => ({
  index,
  id,
  type: 'function',
  function: { name, arguments: JSON.stringify(args) },
});

/** The reply as a chat completion. */
export const completionOf = (given: Answer): CompletionResult => ({
  id: 'chatcmpl-1',
  object: 'chat.completion',
  created: 1,
  model: 'test-model',
  system_fingerprint: null,
  choices: [
    {
      index: 0,
      message: {
        role: 'assistant',
        content: given.text === '' ? null : given.text,
        refusal: null,
        ...reasoningFields(given.thoughts),
        ...(given.calls.length > 0 && { tool_calls: given.calls.map(toolCall) }),
      },
      logprobs: null,
      finish_reason: finishOf(given),
    },
  ],
  usage: { prompt_tokens: 5, completion_tokens: 7, total_tokens: 12 },
});

/**
 * The reply as chunks of a stream.
 *
 * @param size - the number of characters in a piece
 * @param isInterleaved - whether the chunks of the tool calls alternate
 */
export function chunksOf(given: Answer, size: number, isInterleaved: boolean): CompletionChunk[] {
  const chunk = (delta: object, finish: string | null = null) =>
    ({
      id: 'x',
      choices: [{ index: 0, delta, logprobs: null, finish_reason: finish }],
    }) as unknown as CompletionChunk;
  const pieces = (text: string) =>
    [...text].flatMap((_, at, all) => (at % size === 0 ? all.slice(at, at + size).join('') : []));
  const calls = given.calls.map((call, index) => {
    const { function: called, ...rest } = toolCall(call, index);
    return [
      chunk({ tool_calls: [{ ...rest, function: { name: called.name, arguments: '' } }] }),
      ...pieces(called.arguments).map((piece) =>
        chunk({ tool_calls: [{ index, function: { arguments: piece } }] }),
      ),
    ];
  });
  const longest = Math.max(0, ...calls.map(({ length }) => length));
  const inTurns = Array.from({ length: longest }, (_, at) => calls.flatMap((of) => of[at] ?? [])).flat();
  return [
    chunk({ role: 'assistant', content: '' }),
    ...given.thoughts.flatMap(({ seal, text }) => [
      ...pieces(text).map((piece) => chunk({ reasoning_content: piece })),
      ...(seal ? [chunk({ reasoning_details: [detailOf({ text, seal })] })] : []),
    ]),
    ...pieces(given.text).map((piece) => chunk({ content: piece })),
    ...(isInterleaved ? inTurns : calls.flat()),
    chunk({}, finishOf(given)),
  ];
}

const sealIn = (written: string | undefined, own: string, kind: Seal['kind']): Seal | undefined =>
  written === undefined || written === 'parley' ? undefined : readSeal(written, own, kind);

/** The parts of a reply that a client of the Responses API reads in a response. */
export const fromResponse = ({ output, status }: Body) => ({
  thoughts: output.flatMap((item: Body) =>
    item.type === 'reasoning'
      ? [[item.content[0]?.text ?? '', sealIn(item.encrypted_content, RESPONSES_FORMAT, 'data')]]
      : [],
  ),
  text: output.flatMap((item: Body) => (item.type === 'message' ? item.content[0].text : [])).join(''),
  calls: output.flatMap((item: Body) =>
    item.type === 'function_call' ? [[item.call_id, item.name, JSON.parse(item.arguments)]] : [],
  ),
  isCut: status === 'incomplete',
});

/** The parts of a reply that a client of the Messages API reads in a message. */
export const fromMessage = ({ content, stop_reason: reason }: Body) => ({
  thoughts: content.flatMap((block: Body) => {
    if (block.type === 'thinking')
      return [[block.thinking, sealIn(block.signature, MESSAGES_FORMAT, 'signature')]];
    return block.type === 'redacted_thinking' ? [['', sealIn(block.data, MESSAGES_FORMAT, 'data')]] : [];
  }),
  text: content.flatMap((block: Body) => (block.type === 'text' ? block.text : [])).join(''),
  calls: content.flatMap((block: Body) =>
    block.type === 'tool_use' ? [[block.id, block.name, block.input]] : [],
  ),
  isCut: reason === 'max_tokens',
});

/** Assembles a message from its events, as Anthropic's clients do. Throws if the order of the events is wrong. */
export function assembled(events: readonly ServerEvent[]): Body {
  let message: Body;
  let open: number | undefined;
  for (const { data } of events) {
    if (data.type === 'message_start') message = { ...data.message, content: [] };
    if (data.type === 'content_block_start') {
      if (open !== undefined || data.index !== message.content.length) throw new Error('Blocks overlap.');
      open = data.index;
      message.content.push({ ...data.content_block, json: '' });
    }
    const block = message.content[data.index];
    if (data.type === 'content_block_delta') {
      if (data.index !== open) throw new Error('The block is not open.');
      const { partial_json: json = '', text = '', signature = '', thinking = '' } = data.delta;
      if (block.type === 'text') block.text += text;
      if (block.type === 'thinking') {
        block.thinking += thinking;
        block.signature += signature;
      }
      if (block.type === 'tool_use') block.json += json;
    }
    if (data.type === 'content_block_stop') {
      if (block.type === 'tool_use') block.input = JSON.parse(block.json || '{}');
      open = undefined;
    }
    if (data.type === 'message_delta') message = { ...message, ...data.delta };
  }
  if (open !== undefined) throw new Error('A block was not closed.');
  return message;
}

/** The parts that every client should read in a reply. */
export const read = ({ calls, finish, text, thoughts: given }: Answer) => ({
  thoughts: given.map((thought) => [thought.text, thought.seal]),
  text,
  calls: calls.map((call) => [call.id, call.name, call.args]),
  isCut: finish === 'length',
});
