import { ApiError } from '../../errors.ts';
import { continueTrace } from '../../tracing.ts';

const tooLate = (ms: number) =>
  new ApiError('upstreamTimeout', {
    // The client controls how long an answer takes to begin.
    isProvokable: true,
    cause: new Error(`No output within ${ms} ms over all attempts.`),
  });

/** A request's signal, and its deadline for the first output, which all attempts share. */
export class AttemptSignal {
  // Not AbortSignal.any: on Node 20, a long-lived signal retains every signal derived from it.
  readonly #controller = new AbortController();
  readonly #parent: AbortSignal;
  readonly #onAbort = () => this.#controller.abort(this.#parent.reason);
  #timer: NodeJS.Timeout | undefined;

  constructor(parent: AbortSignal, deadlineMs: number) {
    this.#parent = parent;
    continueTrace(this.signal, parent);
    if (parent.aborted) this.#onAbort();
    else parent.addEventListener('abort', this.#onAbort, { once: true });
    this.#timer = setTimeout(() => this.#controller.abort(tooLate(deadlineMs)), deadlineMs).unref();
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** The answer has begun. */
  lift(): void {
    clearTimeout(this.#timer);
  }

  end(): void {
    this.lift();
    this.#parent.removeEventListener('abort', this.#onAbort);
  }
}
