/** What streamed answers share: their events, and their outcome so far. Contract section 7. */
import type { CompletionChunk, CompletionInput, CompletionResult } from '../engines/types.ts';
import { charactersOf, estimatedUsage } from '../engines/upstream/usage.ts';
import type { Envelope } from '../errors.ts';
import type { Outcome } from './ledger.ts';

/** How a route turns an answer into events. */
export type Script = {
  /** Asks the engine. */
  chunks(signal: AbortSignal): AsyncIterable<CompletionChunk>;
  /** The events for a chunk; empty if the client does not get it. */
  tell(chunk: CompletionChunk): string;
  /** The outcome so far, for the ledger. `isKept`: with a turn to store. */
  outcome(isKept: boolean): Outcome;
  /** The last events of a complete answer. */
  end(): string;
  /**
   * The answer so far as events, for a replay, if it was to be kept. `envelope` is the error of an incomplete answer.
   */
  replay(envelope?: Envelope): string;
  /** The last event of an interrupted answer. */
  error(envelope: Envelope): string;
};

/** Counts the tokens of an answer: the engine's count at the end, or else an estimate. */
export class Tally {
  readonly #input: CompletionInput;
  #characters = 0;
  #counted: CompletionResult['usage'] | undefined;

  constructor(input: CompletionInput) {
    this.#input = input;
  }

  add({ choices, usage }: CompletionChunk): void {
    if (usage) this.#counted = usage;
    for (const { delta } of choices) this.#characters += charactersOf(delta);
  }

  tokens(): { inputTokens: number; outputTokens: number } {
    const { completion_tokens: outputTokens, prompt_tokens: inputTokens } =
      this.#counted ?? estimatedUsage(this.#input, this.#characters);
    return { inputTokens, outputTokens };
  }
}
