/** A few slots, and whoever waits for one, in order. */
export class Semaphore {
  readonly #waitingAtMost: number;
  readonly #waiting = new Set<() => void>();
  #free: number;

  constructor(slots: number, waitingAtMost = Number.POSITIVE_INFINITY) {
    this.#free = slots;
    this.#waitingAtMost = waitingAtMost;
  }

  /** Whether all slots are taken and nobody else may wait. Ask before `take`, which always waits. */
  get isFull(): boolean {
    return this.#free === 0 && this.#waiting.size >= this.#waitingAtMost;
  }

  /**
   * Takes a slot, or waits for one.
   *
   * @param signal - ends the wait
   * @returns releases the slot; to be called once
   * @throws the signal's reason once it is aborted
   */
  async take(signal?: AbortSignal): Promise<() => void> {
    signal?.throwIfAborted();
    if (this.#free > 0) this.#free -= 1;
    else await this.#turn(signal);
    return () => this.#release();
  }

  /** Runs a task in a slot. */
  async run<T>(task: () => Promise<T>): Promise<T> {
    const release = await this.take();
    try {
      return await task();
    } finally {
      release();
    }
  }

  #turn(signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve, reject) => {
      const begin = () => {
        signal?.removeEventListener('abort', giveUp);
        resolve();
      };
      const giveUp = () => {
        this.#waiting.delete(begin);
        reject(signal?.reason);
      };
      signal?.addEventListener('abort', giveUp, { once: true });
      this.#waiting.add(begin);
    });
  }

  /** The slot passes to the next in line without becoming free in between. */
  #release(): void {
    const [next] = this.#waiting;
    if (next === undefined) this.#free += 1;
    else {
      this.#waiting.delete(next);
      next();
    }
  }
}
