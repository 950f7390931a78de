/** The chunks of a streamed completion, put right as `answers.ts` does for whole ones. Contract section 7. */
import type { EventSourceMessage } from 'eventsource-parser';
import type { CompletionChunk, CompletionInput } from '../types.ts';
import { newHead, settleChoice, settleHead, tooFewChoices } from './answers.ts';
import { isObject, type JsonObject, parseJson, plainText } from './json.ts';
import type { Broken } from './transport.ts';
import { charactersOf, countedUsage, estimatedUsage, type Usage } from './usage.ts';

/** More than any client may ask for. */
const MAX_CHOICES = 128;

type ChoiceState = { isFinished: boolean; toolCalls: number };

/** Reads one stream: each event in, each chunk out, and at the end what the whole came to. */
export class ChunkReader {
  readonly #input: CompletionInput;
  readonly #broken: Broken;
  readonly #asksForUsage: boolean;
  readonly #head = newHead();
  readonly #choices: ChoiceState[] = [];
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
   * @returns undefined for a chunk that held usage and nothing else
   * @throws ApiError `upstreamError` for an event that is no chunk, or tells of an error
   */
  chunk({ data, event }: EventSourceMessage): CompletionChunk | undefined {
    const chunk = parseJson(data);
    if (!isObject(chunk)) throw this.#broken('An event of the stream is no chunk:', data);
    if (chunk.error || event === 'error') throw this.#broken('The upstream broke the stream off:', data);
    const choices = Array.isArray(chunk.choices) ? (chunk.choices as unknown[]) : [];
    settleHead(chunk, 'chat.completion.chunk', this.#input.model, this.#head);
    chunk.choices = choices;
    this.#last = chunk;

    const usage = countedUsage(chunk.usage);
    if (usage !== undefined) this.#usage = usage;
    if (usage !== undefined && choices.length === 0) return undefined;
    if (this.#asksForUsage) chunk.usage = null;
    else if ('usage' in chunk) delete chunk.usage;

    for (const [position, choice] of choices.entries()) this.#settle(choice, position);
    return chunk as CompletionChunk;
  }

  /**
   * The last chunk: no choices, and the tokens of the whole.
   *
   * @param isDone - whether the upstream said `[DONE]`
   * @throws ApiError `upstreamError` for a stream that was cut off, or gave fewer choices than were asked for
   */
  last(isDone: boolean): CompletionChunk {
    const { length } = this.#choices;
    const wanted = this.#input.n ?? 1;
    const finished = this.#choices.filter((choice) => choice?.isFinished).length;
    if (!isDone && finished < Math.max(wanted, length))
      throw this.#broken(`The stream was cut off: ${finished} of ${wanted} choices were finished.`);
    if (length < wanted) throw this.#broken(tooFewChoices(length, wanted).message);
    const { created, id, model, object, system_fingerprint } = this.#last as CompletionChunk;
    const usage = this.#usage ?? estimatedUsage(this.#input, this.#characters);
    return { id, object, created, model, system_fingerprint, choices: [], usage };
  }

  #settle(choice: unknown, position: number): void {
    if (!isObject(choice)) throw this.#broken('A choice of a chunk is no object.');
    settleChoice(choice, position);
    const index = choice.index as number;
    if (index >= MAX_CHOICES) throw this.#broken(`A chunk is of choice ${index}.`);
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
    if (choice.finish_reason !== null) state.isFinished = true;
    this.#characters += charactersOf(delta);
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
