/** Delays a shutdown until load balancers have noticed it. Contract section 11. */
import { setTimeout as delay } from 'node:timers/promises';

/** Load balancers poll every few seconds. With fewer than two polls in this time, no load balancer is polling. */
const POLLED_WITHIN_MS = 30_000;

export class Drain {
  readonly #limits: { drainMs: number; readyDelayMs: number };
  #polls: [number, number] = [Number.NEGATIVE_INFINITY, Number.NEGATIVE_INFINITY];
  #startedAt: number | undefined;

  /** @param drainMs - the longest shutdown; after it, open requests are aborted */
  constructor(drainMs: number, readyDelayMs: number) {
    this.#limits = { drainMs, readyDelayMs };
  }

  /** Whether shutdown has begun. Then `/readyz` returns 503, and connections close after their response. */
  get isUnderWay(): boolean {
    return this.#startedAt !== undefined;
  }

  get leftMs(): number {
    const { drainMs } = this.#limits;
    return this.#startedAt === undefined
      ? drainMs
      : Math.max(0, drainMs - (performance.now() - this.#startedAt));
  }

  notePoll(): void {
    this.#polls = [performance.now(), this.#polls[0]];
  }

  begin(): void {
    this.#startedAt ??= performance.now();
  }

  /** Waits until load balancers that poll `/readyz` can have noticed the shutdown. Returns at once if none polls. */
  async untilNoticed(signal: AbortSignal): Promise<void> {
    const isPolled = performance.now() - this.#polls[1] < POLLED_WITHIN_MS;
    if (!isPolled) return;
    const ms = Math.min(this.#limits.readyDelayMs, this.leftMs);
    await delay(ms, undefined, { signal }).catch(() => {});
  }
}
