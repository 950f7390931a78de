/** Which of the waiting bodies is parsed next. Contract section 6. */

type Waiting = { weight: number; begin: () => void };

/** Where too many wait. */
export class TurnError extends Error {
  constructor() {
    super('Too many bodies wait to be parsed.');
    this.name = 'TurnError';
  }
}

/**
 * Runs one piece of work at a time, the smallest first. Each time another one overtakes it, a waiting piece counts half as
 * large, so 25 overtake even the largest body.
 */
export class Turns {
  readonly #most: number;
  readonly #waiting: Waiting[] = [];
  #isTaken = false;

  /** @param most - how many may wait */
  constructor(most: number) {
    this.#most = most;
  }

  /** @throws TurnError where too many wait; what the work throws */
  async run<T>(bytes: number, work: () => Promise<T>): Promise<T> {
    if (this.#isTaken) {
      if (this.#waiting.length >= this.#most) throw new TurnError();
      await new Promise<void>((begin) => this.#waiting.push({ weight: bytes, begin }));
    }
    this.#isTaken = true;
    try {
      return await work();
    } finally {
      this.#next();
    }
  }

  /** The turn stays taken where somebody waits for it. */
  #next(): void {
    const weights = this.#waiting.map(({ weight }) => weight);
    const smallest = weights.indexOf(Math.min(...weights));
    for (const overtaken of this.#waiting.slice(0, Math.max(smallest, 0))) overtaken.weight /= 2;
    const [next] = smallest < 0 ? [] : this.#waiting.splice(smallest, 1);
    this.#isTaken = next !== undefined;
    next?.begin();
  }
}
