import { ApiError } from '../../errors.ts';
import { DerivedSignal } from '../derived-signal.ts';

const tooLate = (ms: number) =>
  new ApiError('upstreamTimeout', {
    // The client controls how long the model takes to begin.
    isProvokable: true,
    cause: new Error(`No output within ${ms} ms across all attempts.`),
  });

/** A request's signal with a deadline that all attempts share. Call `lift` when the first output arrives. */
export function attemptSignal(parent: AbortSignal, deadlineMs: number): DerivedSignal {
  const signal = new DerivedSignal(parent);
  signal.abortAfter(deadlineMs, () => tooLate(deadlineMs));
  return signal;
}
