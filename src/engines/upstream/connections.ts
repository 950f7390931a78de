/**
 * Limits concurrent requests to an upstream, so that a slow one cannot exhaust sockets or memory. As many again queue
 * briefly; the rest are refused at once.
 */
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

  /**
   * Takes a connection, or waits for one.
   *
   * @param patienceMs - remaining time of the request
   * @returns releases it; call once
   * @throws ApiError `overloaded`; the signal's reason if it aborts
   */
  async take(signal: AbortSignal, patienceMs: number): Promise<() => void> {
    signal.throwIfAborted();
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
