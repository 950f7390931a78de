/** What some servers reject, and how a request does without it. Contract sections 8 and 15. */
import type { CompletionInput } from '../types.ts';
import type { JsonObject } from './json.ts';

export type Concession = {
  /** Whether an error of the upstream asks for it. */
  isFor(error: unknown): boolean;
  /**
   * The body without what the server rejected.
   *
   * @param input - what the client sent
   * @returns undefined if there is nothing to leave out
   */
  apply(body: JsonObject, input: CompletionInput): JsonObject | undefined;
};

/** Remembers the concessions that each of an upstream's models needs. */
export class Concessions {
  readonly #known: readonly Concession[];
  readonly #byModel = new Map<string, ReadonlySet<Concession>>();

  constructor(known: readonly Concession[]) {
    this.#known = known;
  }

  /**
   * Sends a body, and again for each concession that the upstream asks for. It only validated the body until then, so
   * further requests do not repeat any work.
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
        // Only success proves that a concession was needed: an error may quote the client's text.
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
