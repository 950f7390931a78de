/**
 * How many requests an upstream gets at the same time, so that a slow one takes neither all sockets nor all memory.
 * A few more wait, in order and not for long; the rest is refused at once.
 */
import { ApiError } from '../../errors.ts';
import { UpstreamProblem } from './errors.ts';

/** How long a request waits for a connection, at most. */
const PATIENCE_MS = 10_000;

const busy = (why: string) => new ApiError('overloaded', { cause: new UpstreamProblem(why) });

type Waiting = { begin: () => void };

export class Connections {
  readonly #most: number;
  readonly #waiting = new Set<Waiting>();
  #taken = 0;

  /** @param most - at once; as many again may wait */
  constructor(most: number) {
    this.#most = most;
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
    if (this.#taken >= this.#most) await this.#wait(signal, Math.min(patienceMs, PATIENCE_MS));
    else this.#taken += 1;
    return () => this.#release();
  }

  /** Whoever waits longest takes over the connection that is released. */
  #release(): void {
    const [next] = this.#waiting;
    if (next === undefined) this.#taken -= 1;
    else next.begin();
  }

  #wait(signal: AbortSignal, ms: number): Promise<void> {
    if (this.#waiting.size >= this.#most)
      return Promise.reject(busy(`${this.#most} requests are at the upstream, and as many wait.`));
    return new Promise((resolve, reject) => {
      const settle = () => {
        clearTimeout(timer);
        signal.removeEventListener('abort', onAbort);
        this.#waiting.delete(waiting);
      };
      const giveUp = (reason: unknown) => {
        settle();
        reject(reason);
      };
      const onAbort = () => giveUp(signal.reason);
      const waiting: Waiting = {
        begin: () => {
          settle();
          resolve();
        },
      };
      const timer = setTimeout(
        () => giveUp(busy(`No connection to the upstream was free within ${ms} ms.`)),
        ms,
      );
      signal.addEventListener('abort', onAbort);
      this.#waiting.add(waiting);
    });
  }
}
