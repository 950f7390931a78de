/** The beginning of an orderly end: who balances load hears of it before the door closes. Contract section 11. */
import { setTimeout as delay } from 'node:timers/promises';

/** Balancers ask every few seconds; whoever has not asked twice in this time is a person. */
const POLLED_WITHIN_MS = 30_000;

export class Drain {
  readonly #limits: { drainMs: number; readyDelayMs: number };
  /** When `/readyz` was last asked, and the time before. */
  #polls: [number, number] = [Number.NEGATIVE_INFINITY, Number.NEGATIVE_INFINITY];
  #startedAt: number | undefined;

  /**
   * @param drainMs - how long the end may take in all, until what is still open is cut short
   * @param readyDelayMs - how long `/readyz` answers 503 before connections are refused
   */
  constructor(drainMs: number, readyDelayMs: number) {
    this.#limits = { drainMs, readyDelayMs };
  }

  /** Whether the process is about to end: `/readyz` answers 503, and connections end with their answer. */
  get isUnderWay(): boolean {
    return this.#startedAt !== undefined;
  }

  /** What is left of the time that open requests have, in milliseconds. */
  get leftMs(): number {
    const { drainMs } = this.#limits;
    return this.#startedAt === undefined
      ? drainMs
      : Math.max(0, drainMs - (performance.now() - this.#startedAt));
  }

  /** Somebody asked `/readyz`. */
  notePoll(): void {
    this.#polls = [performance.now(), this.#polls[0]];
  }

  /** From now on `/readyz` answers 503. Safe to call again. */
  begin(): void {
    this.#startedAt ??= performance.now();
  }

  /**
   * Waits until a balancer that polls `/readyz` has had the time to hear; not at all where nobody polls.
   *
   * @param signal - ends the wait
   */
  async untilNoticed(signal: AbortSignal): Promise<void> {
    const isPolled = performance.now() - this.#polls[1] < POLLED_WITHIN_MS;
    if (!isPolled) return;
    const ms = Math.min(this.#limits.readyDelayMs, this.leftMs);
    await delay(ms, undefined, { signal }).catch(() => {});
  }
}
