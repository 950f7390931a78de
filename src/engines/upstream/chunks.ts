/** Normalizes the chunks of a streamed completion, as `answers.ts` does for complete ones. Contract section 7. */
import type { CompletionChunk, CompletionInput } from '../types.ts';
import { completeChoice, completeHead, newHead } from './answers.ts';
import { isObject, type JsonObject, plainText } from './json.ts';
import { TooFew } from './known-limits.ts';
import type { BrokenError } from './transport.ts';
import { bytesOf, charactersOf, countedUsage, estimatedUsage, type Usage } from './usage.ts';

/** Members of a delta whose presence alone is not output. */
const standing = new Set(['role', 'content', 'refusal', 'reasoning_content', 'reasoning', 'tool_calls']);

type ChoiceState = { isFinished: boolean; toolCalls: number };

export class ChunkReader {
  readonly #input: CompletionInput;
  readonly #broken: BrokenError;
  readonly #asksForUsage: boolean;
  readonly #head = newHead();
  readonly #choices: ChoiceState[] = [];
  /** Whether the last chunk had output. */
  hasGrown = false;
  #characters = 0;
  #bytes = 0;
  #usage: Usage | undefined;
  #last: JsonObject = {};

  constructor(input: CompletionInput, broken: BrokenError) {
    this.#input = input;
    this.#broken = broken;
    const { stream_options: options } = input as JsonObject;
    this.#asksForUsage = isObject(options) && options.include_usage === true;
  }

  /**
   * Normalizes a chunk in place. Drops choices that were not charged, and holds the usage for the last chunk. As with
   * OpenAI, other chunks have `usage: null` if the client requested usage.
   *
   * @returns undefined if the chunk had only usage or dropped choices
   * @throws ApiError `upstreamError` for an invalid choice
   */
  chunk(chunk: JsonObject): CompletionChunk | undefined {
    const choices = Array.isArray(chunk.choices) ? (chunk.choices as unknown[]) : [];
    completeHead(chunk, 'chat.completion.chunk', this.#input.model, this.#head);
    const wanted = this.#input.n ?? 1;
    const kept = choices.filter((choice, position) => this.#complete(choice, position) < wanted);
    chunk.choices = kept;
    this.#last = chunk;

    this.hasGrown = false;

    const usage = countedUsage(chunk.usage);
    if (usage !== undefined) this.#usage = usage;
    if (usage !== undefined && choices.length === 0) return undefined;
    if (this.#asksForUsage) chunk.usage = null;
    else if ('usage' in chunk) delete chunk.usage;

    if (kept.length === 0 && choices.length > 0) return undefined;
    for (const choice of kept) this.#add(choice as JsonObject);
    return chunk as CompletionChunk;
  }

  /**
   * Creates the last chunk, with the usage and no choices. `isDone` says whether the upstream sent the event that ends
   * a stream.
   *
   * @throws ApiError `upstreamError` if the stream was cut off or empty; `invalidRequest` (`TooFew`) for too few
   *   choices
   */
  last(isDone: boolean): CompletionChunk {
    const { length } = this.#choices;
    const wanted = this.#input.n ?? 1;
    const finished = this.#choices.filter((choice) => choice?.isFinished).length;
    if (!isDone && finished < Math.max(wanted, length))
      throw this.#broken(`The stream was cut off: ${finished} of ${wanted} choices were finished.`);
    if (length === 0) throw this.#broken('The stream has no choices.');
    if (length < wanted) throw new TooFew('choices', length, wanted);
    const { created, id, model, object, system_fingerprint } = this.#last as CompletionChunk;
    const usage = this.#usage ?? estimatedUsage(this.#input, this.#characters, this.#bytes);
    return { id, object, created, model, system_fingerprint, choices: [], usage };
  }

  #complete(choice: unknown, position: number): number {
    if (!isObject(choice)) throw this.#broken('A choice in a chunk is not an object.');
    completeChoice(choice, position);
    return choice.index as number;
  }

  #add(choice: JsonObject): void {
    const index = choice.index as number;
    const delta: JsonObject = isObject(choice.delta) ? choice.delta : {};
    choice.delta = delta;

    let state = this.#choices[index];
    if (state === undefined) {
      state = { isFinished: false, toolCalls: 0 };
      this.#choices[index] = state;
      // Clients take the role from the first delta of a choice.
      delta.role = 'assistant';
    } else if ('role' in delta && delta.role !== 'assistant') {
      delete delta.role;
    }
    if (delta.content !== undefined && typeof delta.content !== 'string')
      delta.content = plainText(delta.content);
    if (Array.isArray(delta.tool_calls)) numberToolCalls(delta.tool_calls, state);
    const characters = charactersOf(delta);
    this.hasGrown ||= characters > 0 || Object.keys(delta).some((name) => !standing.has(name));
    if (choice.finish_reason !== null) state.isFinished = true;
    this.#characters += characters;
    if (this.#usage === undefined) this.#bytes += bytesOf(delta);
  }
}

/** Numbers tool calls, because clients assemble calls by `index`. Servers that send calls whole omit it. */
function numberToolCalls(calls: unknown[], state: ChoiceState): void {
  for (const call of calls) {
    if (!isObject(call)) continue;
    if (typeof call.index !== 'number')
      call.index = call.id === undefined ? Math.max(state.toolCalls - 1, 0) : state.toolCalls;
    state.toolCalls = Math.max(state.toolCalls, (call.index as number) + 1);
  }
}
