import { continueTrace } from '../telemetry/tracing.ts';
import { continueProgress } from './progress.ts';

/** A signal that aborts with another one, when told to, or after a time. It continues the other one's trace and progress. */
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

  /** Aborts after so long, unless `lift` or `end` comes first. */
  abortAfter(milliseconds: number, reason: () => unknown): void {
    this.#timer = setTimeout(() => this.abort(reason()), milliseconds).unref();
  }

  /** The time no longer counts. */
  lift(): void {
    clearTimeout(this.#timer);
  }

  /** The work is over: neither the time nor the other signal counts. */
  end(): void {
    this.lift();
    this.#parent.removeEventListener('abort', this.#onAbort);
  }
}
