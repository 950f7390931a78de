/** Iterators that end at once. */
import { continueTrace } from '../tracing.ts';

/**
 * An iterator whose `return` ends the work at once. A generator's own `return` waits for a pending `next`, up to a
 * minute if the upstream is silent. `signal` also ends it.
 */
export function abortable<T>(
  signal: AbortSignal,
  make: (gone: AbortSignal) => AsyncGenerator<T, void, undefined>,
): AsyncIterator<T, void, undefined> {
  // Not AbortSignal.any: on Node 20, a long-lived signal retains every signal derived from it.
  const gone = new AbortController();
  continueTrace(gone.signal, signal);
  const onAbort = () => gone.abort(signal.reason);
  if (signal.aborted) onAbort();
  else signal.addEventListener('abort', onAbort, { once: true });
  const generator = make(gone.signal);
  const ended = <R>(result: R): R => {
    signal.removeEventListener('abort', onAbort);
    return result;
  };
  return {
    async next() {
      try {
        const result = await generator.next();
        return result.done ? ended(result) : result;
      } catch (error) {
        throw ended(error);
      }
    },
    async return() {
      gone.abort();
      return ended(await generator.return());
    },
  };
}
