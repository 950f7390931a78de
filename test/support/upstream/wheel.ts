/** One timer for thousands of streams, because a timer for each would cost more than the streams. */

const SLOT_MS = 2;

/** Runs callbacks after a delay, with one timer for all. */
export class TimerWheel {
  readonly #slots = new Map<number, (() => void)[]>();
  #timer: NodeJS.Timeout | undefined;
  #slot = 0;

  /** Calls `callback` once, after `ms` or up to 2 ms later. */
  after(ms: number, callback: () => void): void {
    this.#start();
    const slot = Math.max(Math.ceil((performance.now() + ms) / SLOT_MS), this.#slot + 1);
    const waiting = this.#slots.get(slot);
    if (waiting === undefined) this.#slots.set(slot, [callback]);
    else waiting.push(callback);
  }

  #start(): void {
    if (this.#timer !== undefined) return;
    this.#slot = Math.floor(performance.now() / SLOT_MS);
    this.#timer = setInterval(() => this.#turn(), SLOT_MS);
  }

  #turn(): void {
    const now = Math.floor(performance.now() / SLOT_MS);
    while (this.#slot < now) {
      this.#slot += 1;
      const due = this.#slots.get(this.#slot);
      if (due === undefined) continue;
      this.#slots.delete(this.#slot);
      for (const callback of due) callback();
    }
    if (this.#slots.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }
}

export const wheel = new TimerWheel();

/** Waits with the shared timer; returns undefined for 0. */
export const rest = (ms: number): Promise<void> | undefined =>
  ms > 0 ? new Promise((resolve) => wheel.after(ms, resolve)) : undefined;
