/** Normalizes an upstream's completions to the form that OpenAI's clients expect. Contract sections 7 and 8. */
import { newId } from '../../domain/ids.ts';
import type { CompletionInput, CompletionResult } from '../types.ts';
import { isObject, type JsonObject, plainText, textWithin, wholeNumber } from './json.ts';
import { TooFew } from './known-limits.ts';
import type { BrokenError } from './transport.ts';
import { bytesOf, charactersOf, countedUsage, estimatedUsage } from './usage.ts';

const MAX_ID_LENGTH = 200;
const MAX_FINISH_LENGTH = 60;

/** The ID and time of a completion, for upstreams that send none. */
export const newHead = () => ({
  id: `chatcmpl-${newId().replaceAll('-', '')}`,
  created: Math.floor(Date.now() / 1000),
});
export type AnswerHead = ReturnType<typeof newHead>;

/** Normalizes the members that completions and chunks share. `model` is the public name. */
export function completeHead(answer: JsonObject, object: string, model: string, head: AnswerHead): void {
  if (textWithin(answer.id, MAX_ID_LENGTH) === undefined) answer.id = head.id;
  if (!Number.isSafeInteger(answer.created)) answer.created = wholeNumber(answer.created) ?? head.created;
  answer.object = object;
  answer.model = model;
  answer.system_fingerprint = textWithin(answer.system_fingerprint, MAX_ID_LENGTH) ?? null;
}

export function completeChoice(choice: JsonObject, position: number): void {
  choice.index = wholeNumber(choice.index) ?? position;
  choice.logprobs = isObject(choice.logprobs) ? choice.logprobs : null;
  choice.finish_reason = textWithin(choice.finish_reason, MAX_FINISH_LENGTH) ?? null;
}

function completeMessage(message: JsonObject): void {
  message.role = 'assistant';
  message.content = plainText(message.content);
  message.refusal = typeof message.refusal === 'string' ? message.refusal : null;
}

const bytesIn = (choices: readonly unknown[]): number =>
  choices.reduce<number>((sum, choice) => sum + bytesOf((choice as { message: JsonObject }).message), 0);

/**
 * Normalizes an upstream's completion in place.
 *
 * @throws ApiError `upstreamError`; `invalidRequest` (`TooFew`) if the model returns fewer choices than requested
 */
export function completionOf(
  answer: JsonObject,
  input: CompletionInput,
  broken: BrokenError,
): CompletionResult {
  const { choices } = answer;
  if (!Array.isArray(choices) || choices.length === 0) throw broken('The completion has no choices.');
  const wanted = input.n ?? 1;
  if (choices.length < wanted) throw new TooFew('choices', choices.length, wanted);

  let characters = 0;
  for (const [position, choice] of choices.entries()) {
    if (!isObject(choice) || !isObject(choice.message))
      throw broken('A choice of the completion has no message.');
    completeChoice(choice, position);
    completeMessage(choice.message);
    characters += charactersOf(choice.message);
  }
  completeHead(answer, 'chat.completion', input.model, newHead());
  // Do not return choices that were not charged.
  answer.choices = choices.slice(0, wanted);
  answer.usage = countedUsage(answer.usage) ?? estimatedUsage(input, characters, bytesIn(choices));
  return answer as CompletionResult;
}
