type Waiting = { weight: number; begin: () => void };

export class QueueFullError extends Error {
  constructor() {
    super('Too many bodies are waiting to be parsed.');
    this.name = 'QueueFullError';
  }
}

/**
 * Runs one task at a time, smallest first. Each time another task overtakes a waiting one, its weight halves. At most
 * 25 tasks therefore overtake the largest body. Contract section 6.
 */
export class ParseQueue {
  readonly #most: number;
  readonly #waiting: Waiting[] = [];
  #isTaken = false;

  constructor(most: number) {
    this.#most = most;
  }

  /** @throws QueueFullError if too many tasks wait, and whatever the work throws */
  async run<T>(bytes: number, work: () => Promise<T>): Promise<T> {
    if (this.#isTaken) {
      if (this.#waiting.length >= this.#most) throw new QueueFullError();
      await new Promise<void>((begin) => this.#waiting.push({ weight: bytes, begin }));
    }
    this.#isTaken = true;
    try {
      return await work();
    } finally {
      this.#next();
    }
  }

  /** Hands the turn directly to a waiting task. */
  #next(): void {
    const weights = this.#waiting.map(({ weight }) => weight);
    const smallest = weights.indexOf(Math.min(...weights));
    for (const overtaken of this.#waiting.slice(0, Math.max(smallest, 0))) overtaken.weight /= 2;
    const [next] = smallest < 0 ? [] : this.#waiting.splice(smallest, 1);
    this.#isTaken = next !== undefined;
    next?.begin();
  }
}
