/** Events of all streams in one turn of the event loop: a few milliseconds of work. */
const EVENTS_PER_TURN = 50;

/** Bounds what streams together do in one turn of the event loop, so that other requests do not wait for all of them. */
export class LoopShare {
  readonly #waiting: (() => void)[] = [];
  #left = EVENTS_PER_TURN;
  #isScheduled = false;

  /** Counts an event. Returns a promise to await first if this turn's share is used up. */
  take(): Promise<void> | undefined {
    if (!this.#isScheduled) {
      this.#isScheduled = true;
      setImmediate(this.#nextTurn);
    }
    this.#left -= 1;
    if (this.#left >= 0) return undefined;
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  #nextTurn = () => {
    const resumed = this.#waiting.splice(0, EVENTS_PER_TURN);
    this.#left = EVENTS_PER_TURN - resumed.length;
    this.#isScheduled = resumed.length > 0;
    if (this.#isScheduled) setImmediate(this.#nextTurn);
    for (const resume of resumed) resume();
  };
}
