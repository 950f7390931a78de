/** Whether a target works: failures cool it down, and one request at a time then probes it. Contract section 15. */

const FAILURES_IN_A_ROW = 5;
const WINDOW = 20;
const FAILURES_IN_WINDOW = WINDOW / 2;
const SHORTEST_MS = 5000;
export const LONGEST_COOLDOWN_MS = 5 * 60_000;

/** `left`: the attempt ended without telling whether the target works. */
export type AttemptEnd = 'success' | 'failure' | 'left';

export type Attempt = { readonly generation: number };

export class Health {
  /** The newest outcomes, true for failures. */
  #recent: boolean[] = [];
  #inARow = 0;
  /** Cooldowns since the last success. */
  #cooldowns = 0;
  #until = Number.NEGATIVE_INFINITY;
  /** Counts cooldowns. Attempts that began before the last one tell nothing about the time after it. */
  #generation = 0;
  #probe: Attempt | undefined;
  /** Since the last cooldown. */
  #hasAnswered = false;

  /** When the target may be tried again, in the caller's milliseconds; in the past if it works. */
  get until(): number {
    return this.#until;
  }

  /** Whether it may be tried now: it works, or has cooled down and nobody else is probing it. */
  isReady(now: number): boolean {
    return now >= this.#until && (!this.#isOnProbation || this.#probe === undefined);
  }

  get #isOnProbation(): boolean {
    return this.#cooldowns > 0 && !this.#hasAnswered;
  }

  /** Begins an attempt. Pass it to `end` once. */
  begin(): Attempt {
    const attempt = { generation: this.#generation };
    if (this.#isOnProbation) this.#probe ??= attempt;
    return attempt;
  }

  /** The attempt's answer has begun. That ends a probe, though only a whole answer ends the doubling. */
  answered({ generation }: Attempt): void {
    if (generation === this.#generation) this.#hasAnswered = true;
  }

  end(attempt: Attempt, how: AttemptEnd, now: number): void {
    if (attempt === this.#probe) this.#probe = undefined;
    if (attempt.generation !== this.#generation || how === 'left') return;
    this.#recent.push(how === 'failure');
    if (this.#recent.length > WINDOW) this.#recent.shift();
    if (how === 'failure') this.#failed(now);
    else this.#inARow = this.#cooldowns = 0;
  }

  /** The target asked not to be called for a while. */
  pauseFor(ms: number, now: number): void {
    this.#until = Math.max(this.#until, now + Math.min(ms, LONGEST_COOLDOWN_MS));
  }

  #failed(now: number): void {
    this.#inARow += 1;
    const failures = this.#recent.filter(Boolean).length;
    const isHalf = this.#recent.length === WINDOW && failures >= FAILURES_IN_WINDOW;
    if (this.#cooldowns === 0 && this.#inARow < FAILURES_IN_A_ROW && !isHalf) return;
    this.#until = Math.max(
      this.#until,
      now + Math.min(SHORTEST_MS * 2 ** this.#cooldowns, LONGEST_COOLDOWN_MS),
    );
    this.#cooldowns += 1;
    this.#generation += 1;
    this.#probe = undefined;
    this.#hasAnswered = false;
    this.#inARow = 0;
    this.#recent = [];
  }
}
