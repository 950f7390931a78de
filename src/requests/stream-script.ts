/** The interface of all streamed replies: their events and their outcome so far. Contract section 7. */
import type { CompletionChunk, CompletionInput, CompletionResult } from '../engines/types.ts';
import { type AnswerTokens, charactersOf, estimatedUsage, tokensOf } from '../engines/upstream/usage.ts';
import type { Envelope } from '../errors.ts';
import type { Outcome } from '../ledger/types.ts';

/** Turns a reply into the events of one API. */
export type Script = {
  chunks(): AsyncIterable<CompletionChunk>;
  /** The events of a chunk. Empty if the client does not get the chunk. */
  encode(chunk: CompletionChunk): string;
  /** The outcome so far, for the ledger. With `isKept`, it includes the turn to store. */
  outcome(isKept: boolean): Outcome;
  end(): string;
  /** The whole reply so far, as one text. `envelope` is the error that interrupted it. */
  replay(envelope?: Envelope): string;
  error(envelope: Envelope): string;
};

/** Writes on the first call only. Later calls return an empty string. */
export function once<Args extends unknown[]>(write: (...args: Args) => string): (...args: Args) => string {
  let isWritten = false;
  return (...args) => {
    if (isWritten) return '';
    isWritten = true;
    return write(...args);
  };
}

/** Counts the tokens of a reply. Uses the engine's count if it reports one, otherwise an estimate. */
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
