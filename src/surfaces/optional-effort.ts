/**
 * Coding agents always request a reasoning effort. The models that they are made for treat it as a hint, but servers
 * reject it for models that cannot reason. Contract section 14.
 */
import type { ChatCall, ChatEngine, CompletionChunk, CompletionInput } from '../engines/types.ts';
import { refusesEffort } from '../engines/upstream/errors.ts';
import { withoutEffort } from './passthrough.ts';

const FIELD = 'reasoning_effort';
/** How long the engine remembers that a model rejects the effort. */
const REMEMBERED_MS = 10 * 60_000;
const MAX_REMEMBERED = 10_000;

type Request = { input: CompletionInput; call: ChatCall | undefined };

/** Keyed by account, so that no account affects the replies of others. */
const keyOf = ({ call, input }: Request): string =>
  [call?.account, input.model, input[FIELD]].map(String).join(' ');

function without({ call, input }: Request): Request {
  const { [FIELD]: _effort, ...rest } = input;
  return {
    input: rest as CompletionInput,
    call: call?.original === undefined ? call : { ...call, original: withoutEffort(call.original) },
  };
}

/**
 * An engine that retries without the effort if the upstream rejects it. If the retry succeeds, it omits the effort from
 * the account's requests to the model for ten minutes.
 */
export function optionalEffort(engine: ChatEngine, now = () => performance.now()): ChatEngine {
  const refusing = new Map<string, number>();

  const known = (request: Request): Request =>
    (refusing.get(keyOf(request)) ?? Number.NEGATIVE_INFINITY) > now() ? without(request) : request;
  /** The upstream has only validated the body, so a retry repeats no work. */
  const again = (request: Request, error: unknown): Request => {
    if (request.input[FIELD] === undefined || !refusesEffort(error)) throw error;
    return without(request);
  };
  const remember = (request: Request): void => {
    const key = keyOf(request);
    refusing.delete(key);
    refusing.set(key, now() + REMEMBERED_MS);
    const [oldest] = refusing.keys();
    if (refusing.size > MAX_REMEMBERED && oldest !== undefined) refusing.delete(oldest);
  };

  function chunks(request: Request, signal: AbortSignal): AsyncIterator<CompletionChunk, void> {
    const begin = ({ call, input }: Request) => engine.stream(input, signal, call)[Symbol.asyncIterator]();
    const first = known(request);
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
          const result = await current.next();
          remember(first);
          return result;
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
      const first = known({ input, call });
      try {
        return await engine.complete(first.input, signal, first.call);
      } catch (error) {
        const second = again(first, error);
        const answer = await engine.complete(second.input, signal, second.call);
        remember(first);
        return answer;
      }
    },
    stream: (input, signal, call) => ({ [Symbol.asyncIterator]: () => chunks({ input, call }, signal) }),
  };
}
