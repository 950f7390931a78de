/** Iterators that end immediately. */
import { DerivedSignal } from './derived-signal.ts';

/**
 * An iterator whose `return` ends the work immediately. A generator's `return` waits for a pending `next`, up to a
 * minute if the upstream is silent. Aborting `signal` also ends the work.
 */
export function abortable<T>(
  signal: AbortSignal,
  make: (gone: AbortSignal) => AsyncGenerator<T, void, undefined>,
): AsyncIterator<T, void, undefined> {
  const gone = new DerivedSignal(signal);
  const generator = make(gone.signal);
  const ended = <R>(result: R): R => {
    gone.end();
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
