/** Writes replies in the format of Anthropic's Messages API. Contract section 14. */
import type { Static } from '@sinclair/typebox';
import type {
  AnsweredMessage as AnsweredMessageSchema,
  MessagesContentBlock,
  MessagesStopReason,
} from '../../schemas/messages.ts';
import { MESSAGES_FORMAT, writtenSeal } from '../engines/reasoning-details.ts';
import { isObject, type JsonObject } from '../engines/upstream/json.ts';
import type { AnswerTokens } from '../engines/upstream/usage.ts';
import type { AnswerBlock, AnswerBlocks } from './answer-blocks.ts';
import { UNSIGNED } from './messages-input.ts';

export type AnsweredMessage = Static<typeof AnsweredMessageSchema>;
type ContentBlock = Static<typeof MessagesContentBlock>;
type StopReason = Static<typeof MessagesStopReason>;
type Stop = Pick<AnsweredMessage, 'stop_reason' | 'stop_sequence' | 'stop_details'>;

/** The parts of a message that do not come from the model. */
export type MessageContext = {
  /** The request ID, a UUID. */
  id: string;
  model: string;
  stopSequences: readonly string[];
};

/** Every thinking block has a signature, because clients require one. */
export const signatureOf = ({ seal }: AnswerBlock): string =>
  seal === undefined ? UNSIGNED : writtenSeal(seal, MESSAGES_FORMAT);

/** Anthropic's models may hide their reasoning. */
const isRedacted = ({ seal, text }: AnswerBlock) =>
  seal?.format === MESSAGES_FORMAT && seal.kind === 'data' && text === '';

/** Parses a tool's input. An empty object if the text is not a JSON object, because clients require an object. */
function inputOf(text: string): JsonObject {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : {};
  } catch {
    return {};
  }
}

/** A block without its content, as it is when it begins. */
export function emptyBlock(block: AnswerBlock): ContentBlock {
  const { callId, kind, name } = block;
  if (kind === 'reasoning')
    return isRedacted(block)
      ? { type: 'redacted_thinking', data: signatureOf(block) }
      : { type: 'thinking', thinking: '', signature: '' };
  if (kind === 'tool') return { type: 'tool_use', id: callId, name, input: {} };
  // Omits `citations`, because the AI SDK rejects null there.
  return { type: 'text', text: '' };
}

function wholeBlock(block: AnswerBlock): ContentBlock {
  const empty = emptyBlock(block);
  if (empty.type === 'redacted_thinking') return empty;
  if (empty.type === 'thinking') return { ...empty, thinking: block.text, signature: signatureOf(block) };
  if (empty.type === 'tool_use') return { ...empty, input: inputOf(block.text) };
  const { citations = [] } = block.notes ?? {};
  return { ...empty, text: block.text, ...(citations.length > 0 && { citations }) };
}

export const notStopped: Stop = { stop_reason: null, stop_sequence: null, stop_details: null };

/** Anthropic's reasons without a name in chat completions, and the chat completions' reason for each. */
const nativeReasons = {
  pause_turn: 'stop',
  model_context_window_exceeded: 'length',
} as const satisfies Partial<Record<StopReason, string>>;

const isNative = (reason: string | null): reason is keyof typeof nativeReasons =>
  reason !== null && Object.hasOwn(nativeReasons, reason);

function reasonOf({ all, finishReason, nativeReason }: AnswerBlocks, sequence: string | null): StopReason {
  if (isNative(nativeReason) && nativeReasons[nativeReason] === finishReason) return nativeReason;

  const has = (kind: AnswerBlock['kind']) => all.some((block) => block.kind === kind);
  if (finishReason === 'length') return 'max_tokens';
  if (finishReason === 'content_filter' || has('refusal')) return 'refusal';
  // Some servers finish with `stop` after tool calls.
  if (has('tool')) return 'tool_use';
  return sequence === null ? 'end_turn' : 'stop_sequence';
}

export function stopOf(blocks: AnswerBlocks, { stopSequences }: MessageContext): Stop {
  const named = blocks.stopSequence;
  const sequence = named !== null && stopSequences.includes(named) ? named : null;
  const reason = reasonOf(blocks, sequence);
  return {
    stop_reason: reason,
    stop_sequence: reason === 'stop_sequence' ? sequence : null,
    stop_details: reason === 'refusal' ? blocks.stopDetails : null,
  };
}

type CachedTokens = Pick<AnswerBlocks, 'cachedTokens' | 'cacheWriteTokens' | 'cacheCreation'>;
const uncached: CachedTokens = { cachedTokens: 0, cacheWriteTokens: 0, cacheCreation: null };

/** Anthropic reports tokens that were read from or written to a cache separately. */
export function usageOf(
  { inputTokens, outputTokens }: AnswerTokens,
  { cacheCreation, cachedTokens, cacheWriteTokens } = uncached,
): AnsweredMessage['usage'] {
  const read = Math.min(cachedTokens, inputTokens);
  const written = Math.min(cacheWriteTokens, inputTokens - read);
  return {
    input_tokens: inputTokens - read - written,
    output_tokens: outputTokens,
    cache_creation_input_tokens: written,
    cache_read_input_tokens: read,
    ...(cacheCreation !== null && { cache_creation: cacheCreation }),
  };
}

/** A message that has just begun, without content. */
export const begunMessage = ({ id, model }: MessageContext, tokens: AnswerTokens): AnsweredMessage => ({
  id: `msg_${id.replaceAll('-', '')}`,
  type: 'message',
  role: 'assistant',
  model,
  content: [],
  ...notStopped,
  usage: usageOf(tokens),
});

export const wholeMessage = (
  context: MessageContext,
  blocks: AnswerBlocks,
  tokens: AnswerTokens,
): AnsweredMessage => ({
  ...begunMessage(context, tokens),
  content: blocks.all.map(wholeBlock),
  ...stopOf(blocks, context),
  usage: usageOf(tokens, blocks),
});
