/** What streamed answers have in common: how a route tells of one, and what it came to so far. Contract section 7. */
import type { CompletionChunk, CompletionInput, CompletionResult } from '../engines/types.ts';
import { charactersOf, estimatedUsage } from '../engines/upstream/usage.ts';
import type { Envelope } from '../errors.ts';
import type { Outcome } from './ledger.ts';

/** How a route tells of an answer while it is made. */
export type Script = {
  /** Asks the engine. */
  chunks(signal: AbortSignal): AsyncIterable<CompletionChunk>;
  /** The events for a chunk; empty where it is not told. */
  tell(chunk: CompletionChunk): string;
  /**
   * What came so far, for the ledger.
   *
   * @param isKept - whether a turn of it is to be stored
   */
  outcome(isKept: boolean): Outcome;
  /** The last events of an answer that is whole. */
  end(): string;
  /**
   * The events that tell what came once more, at once; where it was to be kept.
   *
   * @param envelope - how it ended, where it is not whole
   */
  replay(envelope?: Envelope): string;
  /** The last event of an answer that broke off. */
  error(envelope: Envelope): string;
};

/** Counts the tokens of an answer: as the engine says at the end, or else as engines estimate them. */
export class Tally {
  readonly #input: CompletionInput;
  #characters = 0;
  #counted: CompletionResult['usage'] | undefined;

  constructor(input: CompletionInput) {
    this.#input = input;
  }

  /** Takes a chunk into account. */
  add({ choices, usage }: CompletionChunk): void {
    if (usage) this.#counted = usage;
    for (const { delta } of choices) this.#characters += charactersOf(delta);
  }

  /** The tokens so far. */
  tokens(): { inputTokens: number; outputTokens: number } {
    const { completion_tokens: outputTokens, prompt_tokens: inputTokens } =
      this.#counted ?? estimatedUsage(this.#input, this.#characters);
    return { inputTokens, outputTokens };
  }
}
