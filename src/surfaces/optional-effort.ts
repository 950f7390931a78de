/**
 * Coding agents always ask for an effort. To the models that they are made for it is a hint, but servers reject it for
 * models that cannot reason. Contract section 14.
 */
import type { ChatCall, ChatEngine, CompletionChunk, CompletionInput } from '../engines/types.ts';
import { refusesField, UpstreamProblem } from '../engines/upstream/errors.ts';
import { ApiError } from '../errors.ts';

const FIELD = 'reasoning_effort';
/** How long a model is remembered. */
const REMEMBERED_MS = 10 * 60_000;
/** Some servers do not name the field. */
const SAYS_WHY = /\b(reasoning|thinking)\b/i;

function isRefusal(error: unknown): boolean {
  if (refusesField(error, FIELD)) return true;
  if (!(error instanceof ApiError) || error.code !== 'invalidRequest') return false;
  const { cause } = error.options;
  return cause instanceof UpstreamProblem && SAYS_WHY.test(cause.message);
}

/** An engine that asks again without the effort if the upstream rejects it, and remembers the model for ten minutes. */
export function optionalEffort(engine: ChatEngine, now = () => performance.now()): ChatEngine {
  const refusing = new Map<string, number>();

  const without = ({ [FIELD]: _effort, ...input }: CompletionInput) => input as CompletionInput;
  const known = (input: CompletionInput) =>
    (refusing.get(input.model) ?? Number.NEGATIVE_INFINITY) > now() ? without(input) : input;
  /** The upstream only validated the body, so a second request does not repeat any work. */
  const again = (input: CompletionInput, error: unknown): CompletionInput => {
    if (input[FIELD] === undefined || !isRefusal(error)) throw error;
    refusing.set(input.model, now() + REMEMBERED_MS);
    return without(input);
  };

  function chunks(
    asked: CompletionInput,
    signal: AbortSignal,
    call: ChatCall | undefined,
  ): AsyncIterator<CompletionChunk, void> {
    const begin = (input: CompletionInput) => engine.stream(input, signal, call)[Symbol.asyncIterator]();
    const first = known(asked);
    let current = begin(first);
    let hasBegun = false;
    return {
      async next() {
        try {
          const result = await current.next();
          hasBegun = true;
          return result;
        } catch (error) {
          if (hasBegun) throw error;
          current = begin(again(first, error));
          hasBegun = true;
          return current.next();
        }
      },
      async return() {
        await current.return?.();
        return { done: true, value: undefined };
      },
    };
  }

  return {
    ...engine,
    async complete(input, signal, call) {
      const first = known(input);
      try {
        return await engine.complete(first, signal, call);
      } catch (error) {
        return engine.complete(again(first, error), signal, call);
      }
    },
    stream: (input, signal, call) => ({ [Symbol.asyncIterator]: () => chunks(input, signal, call) }),
  };
}
