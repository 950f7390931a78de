/**
 * How many requests an upstream gets at the same time, so that a slow one takes neither all sockets nor all memory.
 * A few more wait, in order and not for long; the rest is refused at once.
 */
import { ApiError } from '../../errors.ts';
import { Semaphore } from '../../semaphore.ts';
import { UpstreamProblem } from './errors.ts';

/** How long a request waits for a connection, at most. */
const PATIENCE_MS = 10_000;

const busy = (why: string) => new ApiError('overloaded', { cause: new UpstreamProblem(why) });

export class Connections {
  readonly #most: number;
  readonly #slots: Semaphore;

  /** @param most - at once; as many again may wait */
  constructor(most: number) {
    this.#most = most;
    this.#slots = new Semaphore(most, most);
  }

  /**
   * Takes a connection, or waits for one.
   *
   * @param patienceMs - how long the request has left in all
   * @returns frees it; to be called once
   * @throws ApiError `overloaded`; the signal's reason once it is aborted
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
