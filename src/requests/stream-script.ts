/** What streamed answers share: their events, and their outcome so far. Contract section 7. */
import type { CompletionChunk, CompletionInput, CompletionResult } from '../engines/types.ts';
import { type AnswerTokens, charactersOf, estimatedUsage, tokensOf } from '../engines/upstream/usage.ts';
import type { Envelope } from '../errors.ts';
import type { Outcome } from '../ledger/types.ts';

/** How a route turns an answer into events. */
export type Script = {
  chunks(signal: AbortSignal): AsyncIterable<CompletionChunk>;
  /** Empty if the client does not get the chunk. */
  tell(chunk: CompletionChunk): string;
  /** The outcome so far, for the ledger. `isKept`: with a turn to store. */
  outcome(isKept: boolean): Outcome;
  end(): string;
  /** The answer so far, at once. `envelope` is the error of an incomplete answer. */
  replay(envelope?: Envelope): string;
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

  tokens(): AnswerTokens {
    return tokensOf(this.#counted ?? estimatedUsage(this.#input, this.#characters));
  }
}
