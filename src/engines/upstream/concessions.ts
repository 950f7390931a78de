/** Adapts requests for servers that reject certain fields or values. Contract sections 8 and 15. */
import type { CompletionInput } from '../types.ts';
import type { JsonObject } from './json.ts';

export type Concession = {
  /** Whether an upstream's error calls for this concession. */
  isFor(error: unknown): boolean;
  /**
   * Returns the body without the rejected part.
   *
   * @param input - the client's request
   * @returns undefined if there is nothing to change
   */
  apply(body: JsonObject, input: CompletionInput): JsonObject | undefined;
};

/** Remembers which concessions each model of an upstream needs. */
export class Concessions {
  readonly #known: readonly Concession[];
  readonly #byModel = new Map<string, ReadonlySet<Concession>>();

  constructor(known: readonly Concession[]) {
    this.#known = known;
  }

  /**
   * Sends a body. Retries it with one more concession each time that an error calls for one. A rejected request did no
   * work at the upstream, so a retry repeats nothing.
   */
  async send<T>(
    model: string,
    input: CompletionInput,
    body: JsonObject,
    send: (body: JsonObject) => Promise<T>,
  ): Promise<T> {
    const needed = this.#byModel.get(model);
    const made = new Set(needed);
    let sent = body;
    for (const concession of made) sent = concession.apply(sent, input) ?? sent;
    for (;;)
      try {
        const answer = await send(sent);
        // Only success proves that the model needs a concession: an error may quote the client's text.
        if (made.size > (needed?.size ?? 0)) this.#byModel.set(model, made);
        return answer;
      } catch (error) {
        const next = this.#known.find((one) => !made.has(one) && one.isFor(error));
        const changed = next?.apply(sent, input);
        if (next === undefined || changed === undefined) throw error;
        made.add(next);
        sent = changed;
      }
  }
}
