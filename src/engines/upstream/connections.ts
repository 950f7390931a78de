/** Limits concurrent requests to an upstream, so that a slow upstream cannot exhaust sockets or memory. */

import { Semaphore } from '../../concurrency/semaphore.ts';
import type { Slots } from '../../concurrency/slots.ts';
import { ApiError } from '../../errors.ts';
import { UpstreamProblem } from './errors.ts';

/** Longest wait for a connection. */
const TIMEOUT_MS = 10_000;

const busy = (why: string) => new ApiError('overloaded', { cause: new UpstreamProblem(why) });

/** Slots that several processes share. */
export type SharedConnections = { slots: Slots; name: string };

export class Connections {
  readonly #most: number;
  readonly #slots: Semaphore;
  readonly #shared: SharedConnections | undefined;

  /** @param most - the limit on concurrent requests, and also on waiting requests */
  constructor(most: number, shared?: SharedConnections) {
    this.#most = most;
    this.#slots = new Semaphore(most, most);
    this.#shared = shared;
  }

  /** Acquires a connection. Call the returned release once. Throws ApiError `overloaded` or the signal's reason. */
  async take(signal: AbortSignal, timeoutMs: number): Promise<() => void> {
    signal.throwIfAborted();
    if (this.#shared === undefined) {
      const release = this.#slots.tryTake();
      if (release !== undefined) return release;
      if (this.#slots.isFull) throw this.#full();
    }
    const ms = Math.min(timeoutMs, TIMEOUT_MS);
    const late = new AbortController();
    const timer = setTimeout(
      () => late.abort(busy(`No connection to the upstream was free within ${ms} ms.`)),
      ms,
    );
    try {
      const either = AbortSignal.any([signal, late.signal]);
      return await (this.#shared ? this.#takeShared(this.#shared, either) : this.#slots.take(either));
    } finally {
      clearTimeout(timer);
    }
  }

  async #takeShared({ name, slots }: SharedConnections, signal: AbortSignal): Promise<() => void> {
    try {
      return await slots.take({ name, slots: this.#most, waiting: this.#most }, null, signal);
    } catch (error) {
      throw signal.aborted ? error : this.#full();
    }
  }

  #full = () => busy(`${this.#most} requests are in flight to the upstream, and as many are queued.`);
}
