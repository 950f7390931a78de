import { continueTrace } from '../telemetry/tracing.ts';
import { continueProgress } from './progress.ts';

/** A signal that aborts with its parent, on request, or after a time. It continues the parent's trace and progress. */
export class DerivedSignal {
  // Not AbortSignal.any: on Node 20, a long-lived signal retains every signal derived from it.
  readonly #controller = new AbortController();
  readonly #parent: AbortSignal;
  readonly #onAbort = () => this.abort(this.#parent.reason);
  #timer: NodeJS.Timeout | undefined;

  constructor(parent: AbortSignal) {
    this.#parent = parent;
    continueTrace(this.signal, parent);
    continueProgress(this.signal, parent);
    if (parent.aborted) this.#onAbort();
    else parent.addEventListener('abort', this.#onAbort, { once: true });
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  abort(reason?: unknown): void {
    this.#controller.abort(reason);
  }

  /** Aborts after a time, unless `lift` or `end` is called first. */
  abortAfter(milliseconds: number, reason: () => unknown): void {
    this.#timer = setTimeout(() => this.abort(reason()), milliseconds).unref();
  }

  /** Cancels the timer. */
  lift(): void {
    clearTimeout(this.#timer);
  }

  /** Call it when the work is over. It cancels the timer and detaches the signal from its parent. */
  end(): void {
    this.lift();
    this.#parent.removeEventListener('abort', this.#onAbort);
  }
}
