/** Limits concurrent requests to an upstream, so that a slow one cannot exhaust sockets or memory. */
import { ApiError } from '../../errors.ts';
import { Semaphore } from '../../semaphore.ts';
import { UpstreamProblem } from './errors.ts';

/** Longest wait for a connection. */
const PATIENCE_MS = 10_000;

const busy = (why: string) => new ApiError('overloaded', { cause: new UpstreamProblem(why) });

export class Connections {
  readonly #most: number;
  readonly #slots: Semaphore;

  /** @param most - concurrent requests; as many again may wait */
  constructor(most: number) {
    this.#most = most;
    this.#slots = new Semaphore(most, most);
  }

  /** Takes a connection and returns its release, to call once. Throws ApiError `overloaded`, or the signal's reason. */
  async take(signal: AbortSignal, patienceMs: number): Promise<() => void> {
    signal.throwIfAborted();
    const release = this.#slots.tryTake();
    if (release !== undefined) return release;
    if (this.#slots.isFull)
      throw busy(`${this.#most} requests are in flight to the upstream, and as many are queued.`);
    const ms = Math.min(patienceMs, PATIENCE_MS);
    const late = new AbortController();
    const timer = setTimeout(
      () => late.abort(busy(`No connection to the upstream was free within ${ms} ms.`)),
      ms,
    );
    try {
      return await this.#slots.take(AbortSignal.any([signal, late.signal]));
    } finally {
      clearTimeout(timer);
    }
  }
}
