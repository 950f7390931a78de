/** Tokens of an answer: what the upstream counted, or else an estimate. Contract section 2. */
import { jsonLength } from '../../bodies/sealed.ts';
import type { CompletionInput, CompletionResult } from '../types.ts';
import { isObject, type JsonObject, wholeNumber } from './json.ts';

export type Usage = CompletionResult['usage'];

const CHARACTERS_PER_TOKEN = 4;

/** What a model wrote: text, refusal, reasoning under either of its names, and calls of tools. */
const writtenFields = ['content', 'refusal', 'reasoning_content', 'reasoning'] as const;

/**
 * The characters of a message or of a piece of one.
 *
 * @param message - a `message`, or a chunk's `delta`
 */
export function charactersOf(message: Readonly<Record<string, unknown>>): number {
  let characters = 0;
  for (const field of writtenFields) {
    const text = message[field];
    if (typeof text === 'string') characters += text.length;
  }
  if (!Array.isArray(message.tool_calls)) return characters;
  for (const call of message.tool_calls as unknown[]) {
    const named = isObject(call) && isObject(call.function) ? call.function : {};
    if (typeof named.name === 'string') characters += named.name.length;
    if (typeof named.arguments === 'string') characters += named.arguments.length;
  }
  return characters;
}

/** The characters of what a client sent: the text of its messages, and its tools as JSON. Pictures count nothing. */
function charactersAsked(input: CompletionInput): number {
  const { messages } = input;
  const { tools } = input as JsonObject;
  let characters = tools === undefined ? 0 : jsonLength(tools);
  for (const { content } of messages) {
    if (typeof content === 'string') characters += content.length;
    else for (const part of content ?? []) characters += part.text?.length ?? 0;
  }
  return characters;
}

/** An upstream's count with what it knows beyond, or nothing where it did not count: zeros are no count. */
export function countedUsage(usage: unknown): Usage | undefined {
  if (!isObject(usage)) return undefined;
  const prompt = wholeNumber(usage.prompt_tokens) ?? 0;
  const completion = wholeNumber(usage.completion_tokens) ?? 0;
  if (prompt + completion === 0) return undefined;
  const total = wholeNumber(usage.total_tokens) ?? prompt + completion;
  return { ...usage, prompt_tokens: prompt, completion_tokens: completion, total_tokens: total };
}

/**
 * The estimate where an upstream does not count: a token for every four characters, rounded up, which is about what
 * language models count for English.
 *
 * @param input - what was asked
 * @param characters - how many were written, over all choices
 */
export function estimatedUsage(input: CompletionInput, characters: number): Usage {
  const prompt = Math.ceil(charactersAsked(input) / CHARACTERS_PER_TOKEN);
  const completion = Math.ceil(characters / CHARACTERS_PER_TOKEN);
  return { prompt_tokens: prompt, completion_tokens: completion, total_tokens: prompt + completion };
}
