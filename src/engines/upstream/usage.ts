/** Token counts of replies: the upstream's, or else an estimate. Contract section 2. */
import { jsonLength } from '../../bodies/sealed.ts';
import type { CompletionInput, CompletionResult } from '../types.ts';
import { isObject, type JsonObject, wholeNumber } from './json.ts';

export type Usage = CompletionResult['usage'];

const CHARACTERS_PER_TOKEN = 4;

export const estimatedTokens = (characters: number): number => Math.ceil(characters / CHARACTERS_PER_TOKEN);

/** Text, refusal, and reasoning under either name. Tool calls are counted separately. */
const writtenFields = ['content', 'refusal', 'reasoning_content', 'reasoning'] as const;

function lengthIn(message: Readonly<Record<string, unknown>>, lengthOf: (text: string) => number): number {
  let length = 0;
  for (const field of writtenFields) {
    const text = message[field];
    if (typeof text === 'string') length += lengthOf(text);
  }
  if (!Array.isArray(message.tool_calls)) return length;
  for (const call of message.tool_calls as unknown[]) {
    const named = isObject(call) && isObject(call.function) ? call.function : {};
    if (typeof named.name === 'string') length += lengthOf(named.name);
    if (typeof named.arguments === 'string') length += lengthOf(named.arguments);
  }
  return length;
}

/** The characters of a `message`, or of a chunk's `delta`. */
export const charactersOf = (message: Readonly<Record<string, unknown>>): number =>
  lengthIn(message, (text) => text.length);

/** The UTF-8 bytes of a `message`, or of a chunk's `delta`. */
export const bytesOf = (message: Readonly<Record<string, unknown>>): number =>
  lengthIn(message, (text) => Buffer.byteLength(text));

/** The characters of the request's messages, including calls, and of its tools as JSON. Images count as 0. */
function charactersAsked(input: CompletionInput): number {
  const { messages } = input;
  const { tools } = input as JsonObject;
  let characters = tools === undefined ? 0 : jsonLength(tools);
  for (const message of messages) {
    characters += charactersOf(message);
    if (Array.isArray(message.content))
      for (const part of message.content) characters += part.text?.length ?? 0;
  }
  return characters;
}

/** The upstream's usage with any extra fields. Undefined if the upstream does not count, which zeros also mean. */
export function countedUsage(usage: unknown): Usage | undefined {
  if (!isObject(usage)) return undefined;
  const prompt = wholeNumber(usage.prompt_tokens) ?? 0;
  const completion = wholeNumber(usage.completion_tokens) ?? 0;
  if (prompt + completion === 0) return undefined;
  const total = wholeNumber(usage.total_tokens) ?? prompt + completion;
  return { ...usage, prompt_tokens: prompt, completion_tokens: completion, total_tokens: total };
}

/** Details of an estimate, for usage that the upstream did not report. */
export type Unreported = {
  /** The bytes of a complete reply's text. Undefined if the engine may have generated more than was received. */
  bytes?: number;
};

const unreported = new WeakMap<Usage, Unreported>();

export type AnswerTokens = {
  inputTokens: number;
  outputTokens: number;
  cachedTokens?: number;
  reasoningTokens?: number;
  /** Set if the counts are an estimate. */
  unreported?: Unreported;
};

/** The tokens of a reply, with the cached and reasoning tokens if the engine reports them. */
export function tokensOf(usage: Usage): AnswerTokens {
  const { completion_tokens: outputTokens, prompt_tokens: inputTokens } = usage;
  const { completion_tokens_details: output, prompt_tokens_details: input } = usage as JsonObject;
  const cached = isObject(input) ? wholeNumber(input.cached_tokens) : undefined;
  const reasoning = isObject(output) ? wholeNumber(output.reasoning_tokens) : undefined;
  const guess = unreported.get(usage);
  return {
    inputTokens,
    outputTokens,
    ...(guess && { unreported: guess }),
    ...(cached !== undefined && { cachedTokens: cached }),
    ...(reasoning !== undefined && { reasoningTokens: reasoning }),
  };
}

/**
 * Estimates one token per four characters, rounded up, which is close to language models' counts for English.
 *
 * @param bytes - the bytes of the text, if the reply is complete
 */
export function estimatedUsage(input: CompletionInput, characters: number, bytes?: number): Usage {
  const prompt = estimatedTokens(charactersAsked(input));
  const completion = estimatedTokens(characters);
  const usage = { prompt_tokens: prompt, completion_tokens: completion, total_tokens: prompt + completion };
  unreported.set(usage, bytes === undefined ? {} : { bytes });
  return usage;
}
