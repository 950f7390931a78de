/** How much counted work may run in one turn of the event loop, in microseconds. */
const SHARE = 8000;

/**
 * Limits how much work many requests do in one turn of the event loop. Other requests then need not wait for all of it.
 * Costs are estimates in microseconds. Each `SHARE` of work costs one turn, regardless of how many turns it was spread
 * over. Counting per turn would cost a system call in each.
 */
export class LoopShare {
  readonly #waiting: { cost: number; resume: () => void }[] = [];
  #left = SHARE;

  /** Counts work. Returns a promise to await first if the share is used up. Work resumes in order. */
  take(cost: number): Promise<void> | undefined {
    if (this.#left > 0) {
      this.#left -= cost;
      return undefined;
    }
    if (this.#waiting.length === 0) setImmediate(this.#nextTurn);
    return new Promise((resume) => this.#waiting.push({ cost, resume }));
  }

  #nextTurn = () => {
    this.#left = SHARE;
    let resumed = 0;
    for (const { cost, resume } of this.#waiting) {
      if (this.#left <= 0) break;
      this.#left -= cost;
      resumed += 1;
      resume();
    }
    this.#waiting.splice(0, resumed);
    if (this.#waiting.length > 0) setImmediate(this.#nextTurn);
  };
}

/** The share of this process's event loop. */
export const loopShare = new LoopShare();
