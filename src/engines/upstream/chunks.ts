/** The chunks of a streamed completion, put right as `answers.ts` does for whole ones. Contract section 7. */
import type { EventSourceMessage } from 'eventsource-parser';
import type { CompletionChunk, CompletionInput } from '../types.ts';
import { newHead, settleChoice, settleHead } from './answers.ts';
import { isObject, type JsonObject, parseJson, plainText } from './json.ts';
import { TooFew } from './known-limits.ts';
import type { Broken } from './transport.ts';
import { charactersOf, countedUsage, estimatedUsage, type Usage } from './usage.ts';

/** Members of a delta that are no output by being there. */
const standing = new Set(['role', 'content', 'refusal', 'reasoning_content', 'reasoning', 'tool_calls']);

type ChoiceState = { isFinished: boolean; toolCalls: number };

/** Reads one stream: each event in, each chunk out, and at the end what the whole came to. */
export class ChunkReader {
  readonly #input: CompletionInput;
  readonly #broken: Broken;
  readonly #asksForUsage: boolean;
  readonly #head = newHead();
  readonly #choices: ChoiceState[] = [];
  /** Whether the last chunk held output. */
  hasGrown = false;
  #characters = 0;
  #usage: Usage | undefined;
  #last: JsonObject = {};

  constructor(input: CompletionInput, broken: Broken) {
    this.#input = input;
    this.#broken = broken;
    const { stream_options: options } = input as JsonObject;
    this.#asksForUsage = isObject(options) && options.include_usage === true;
  }

  /**
   * The chunk of an event. The upstream's usage is kept for the end, wherever it came; other chunks say `usage: null`
   * where the client asked for usage, as OpenAI's do, and nothing otherwise.
   *
   * Choices beyond those that were asked for, and charged, are dropped.
   *
   * @returns undefined for a chunk that held usage or such choices and nothing else
   * @throws ApiError `upstreamError` for an event that is no chunk, or tells of an error
   */
  chunk({ data, event }: EventSourceMessage): CompletionChunk | undefined {
    const chunk = parseJson(data);
    if (!isObject(chunk)) throw this.#broken('A stream event is not a chunk:', data);
    if (chunk.error || event === 'error') throw this.#broken('The upstream ended the stream early:', data);
    const choices = Array.isArray(chunk.choices) ? (chunk.choices as unknown[]) : [];
    settleHead(chunk, 'chat.completion.chunk', this.#input.model, this.#head);
    const wanted = this.#input.n ?? 1;
    const kept = choices.filter((choice, position) => this.#settle(choice, position) < wanted);
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
   * The last chunk: no choices, and the tokens of the whole.
   *
   * @param isDone - whether the upstream said `[DONE]`
   * @throws ApiError `upstreamError` for a stream that was cut off or gave nothing; `invalidRequest` (`TooFew`) for one that
   *   gave fewer choices than were asked for
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
    const usage = this.#usage ?? estimatedUsage(this.#input, this.#characters);
    return { id, object, created, model, system_fingerprint, choices: [], usage };
  }

  /** Puts a choice right, and says which it is. */
  #settle(choice: unknown, position: number): number {
    if (!isObject(choice)) throw this.#broken('A choice in a chunk is not an object.');
    settleChoice(choice, position);
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
      // Clients put a choice together from its first delta on, and miss the role where a server leaves it out.
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
  }
}

/** Clients put calls together by `index`; servers that send each call whole leave it out. */
function numberToolCalls(calls: unknown[], state: ChoiceState): void {
  for (const call of calls) {
    if (!isObject(call)) continue;
    if (typeof call.index !== 'number')
      call.index = call.id === undefined ? Math.max(state.toolCalls - 1, 0) : state.toolCalls;
    state.toolCalls = Math.max(state.toolCalls, (call.index as number) + 1);
  }
}
