export class Semaphore {
  readonly #waitingAtMost: number;
  readonly #waiting = new Set<() => void>();
  #free: number;

  constructor(slots: number, waitingAtMost = Number.POSITIVE_INFINITY) {
    this.#free = slots;
    this.#waitingAtMost = waitingAtMost;
  }

  /** Whether all slots are taken and the queue is full. Check it before `take`, which always queues. */
  get isFull(): boolean {
    return this.#free === 0 && this.#waiting.size >= this.#waitingAtMost;
  }

  /** Takes a free slot. Returns a function that releases it, to call once, or undefined if no slot is free. */
  tryTake(): (() => void) | undefined {
    if (this.#free === 0) return undefined;
    this.#free -= 1;
    return () => this.#release();
  }

  /** Like `tryTake`, but waits for a slot until `signal` aborts. */
  async take(signal?: AbortSignal): Promise<() => void> {
    signal?.throwIfAborted();
    const release = this.tryTake();
    if (release !== undefined) return release;
    await this.#wait(signal);
    return () => this.#release();
  }

  async run<T>(task: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    const release = await this.take(signal);
    try {
      return await task();
    } finally {
      release();
    }
  }

  #wait(signal: AbortSignal | undefined): Promise<void> {
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

  /** Passes the slot to the next waiting task without freeing it in between. */
  #release(): void {
    const [next] = this.#waiting;
    if (next === undefined) this.#free += 1;
    else {
      this.#waiting.delete(next);
      next();
    }
  }
}
