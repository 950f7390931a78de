/** Chat over several upstreams. Contract section 15. */
import { abortable } from '../abortable.ts';
import { firstOutput } from '../first-output.ts';
import type { ChatCall, ChatEngine, CompletionChunk, CompletionInput } from '../types.ts';
import { failureOf } from './failures.ts';
import type { AttemptEnd } from './health.ts';
import type { Router } from './router.ts';
import type { Target } from './targets.ts';

/** The call that the engine of a target receives. */
const toldTo = ({ maxOutputTokens }: Target, call: ChatCall | undefined): ChatCall => ({
  original: call?.original,
  maxOutputTokens,
});

/** Creates an engine that chooses a target per request, and tries others until a reply begins. */
export function routedChat(router: Router): ChatEngine {
  const capable = ({ model, n }: Pick<CompletionInput, 'model' | 'n'>) =>
    router.capable(model, ({ model: name, upstream }) =>
      upstream.chat.check?.({ model: name, ...(n !== undefined && { n }) }),
    );

  function sent(input: CompletionInput, { model, upstream }: Target): CompletionInput {
    const request: CompletionInput = { ...input, model };
    for (const field of router.foreignFields(upstream)) delete request[field];
    return request;
  }

  async function begin(target: Target, input: CompletionInput, signal: AbortSignal, call?: ChatCall) {
    const { chat } = target.upstream;
    const chunks = chat.stream(sent(input, target), signal, toldTo(target, call))[Symbol.asyncIterator]();
    try {
      return { chunks, held: await firstOutput(chunks) };
    } catch (error) {
      await chunks.return?.();
      throw error;
    }
  }

  async function* chunks(
    input: CompletionInput,
    outer: AbortSignal,
    call: ChatCall | undefined,
  ): AsyncGenerator<CompletionChunk, void, undefined> {
    const signal = router.deadlineOf(outer);
    const named = (chunk: CompletionChunk) => {
      chunk.model = input.model;
      return chunk;
    };
    try {
      const { attempt, target, value } = await router.open(
        { targets: capable(input), signal, call },
        (chosen) => begin(chosen, input, signal.signal, call),
      );
      signal.lift();
      let how: AttemptEnd = 'left';
      try {
        for (const chunk of value.held) yield named(chunk);
        for (;;) {
          const next = await value.chunks.next();
          if (next.done) break;
          target.health.goesOn();
          yield named(next.value);
        }
        how = 'success';
      } catch (error) {
        if (!signal.signal.aborted && failureOf(error).isOfTarget) how = 'failure';
        throw error;
      } finally {
        router.end(target, attempt, how);
        await value.chunks.return?.();
      }
    } finally {
      signal.end();
    }
  }

  return {
    kind: 'upstream',
    models: router.models,
    /** Throws only if every target is known to lack support. */
    check: (input) => void capable(input),
    /** Counts the tokens at a healthy upstream that supports counting. Undefined if there is none. */
    async countTokens(input, signal, call) {
      const target = router.choose(
        capable(input).filter(({ upstream }) => upstream.chat.countTokens),
        call,
      );
      if (target === undefined) return undefined;
      return target.upstream.chat.countTokens?.(sent(input, target), signal, toldTo(target, call));
    },
    async complete(input, signal, call) {
      const completion = await router.whole({ targets: capable(input), call }, signal, (target, gone) =>
        target.upstream.chat.complete(sent(input, target), gone, toldTo(target, call)),
      );
      completion.model = input.model;
      return completion;
    },
    stream: (input, signal, call) => ({
      [Symbol.asyncIterator]: () => abortable(signal, (gone) => chunks(input, gone, call)),
    }),
  };
}
