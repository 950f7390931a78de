/** Whether a target works: failures cool it down, and one request at a time then probes it. Contract section 15. */

const FAILURES_IN_A_ROW = 5;
const WINDOW = 20;
const FAILURES_IN_WINDOW = WINDOW / 2;
const SHORTEST_MS = 5000;
export const LONGEST_COOLDOWN_MS = 5 * 60_000;

/** `left`: the attempt ended without telling whether the target works. */
export type AttemptEnd = 'success' | 'failure' | 'left';

/** `coolingDownForAccount`: only for the account whose requests failed. */
export type HealthState = 'working' | 'coolingDown' | 'coolingDownForAccount' | 'probing';

export type Attempt = {
  readonly generation: number;
  readonly account: string | undefined;
  /** What the target had sent before, to anybody. */
  readonly heard: number;
};

export class Health {
  /** The newest outcomes. */
  #recent: { isFailure: boolean; account: string | undefined }[] = [];
  #inARow = 0;
  /** Cooldowns since the last success. */
  #cooldowns = 0;
  #cooledUntil = Number.NEGATIVE_INFINITY;
  /** As the target asked. */
  #pausedUntil = Number.NEGATIVE_INFINITY;
  /** The accounts of the failures since the last success, and of those that caused the cooldown. */
  readonly #accounts = new Set<string | undefined>();
  /** Set if all failures that caused the cooldown were of one account: the fault may be in what it asks. */
  #suspect: string | undefined;
  /** Counts cooldowns. Attempts that began before the last one tell nothing about the time after it. */
  #generation = 0;
  #probe: Attempt | undefined;
  /** Since the last cooldown. */
  #hasAnswered = false;
  /** Counts answers that began, and their chunks. */
  #heard = 0;

  /** When the target may be tried again, in the caller's milliseconds; in the past if it works. */
  get until(): number {
    return Math.max(this.#cooledUntil, this.#pausedUntil);
  }

  /**
   * Whether an account may try it now: it works, or has cooled down and nobody else is probing it. A cooldown that a
   * single account caused is that account's, until a request of another one fails.
   */
  isReady(now: number, account?: string): boolean {
    if (now < this.#pausedUntil) return false;
    if (this.#suspect !== undefined && account !== this.#suspect) return true;
    return now >= this.#cooledUntil && (!this.#isOnProbation || this.#probe === undefined);
  }

  state(now: number): HealthState {
    if (now < this.#pausedUntil) return 'coolingDown';
    if (!this.#isOnProbation) return 'working';
    if (now >= this.#cooledUntil) return 'probing';
    return this.#suspect === undefined ? 'coolingDown' : 'coolingDownForAccount';
  }

  get #isOnProbation(): boolean {
    return this.#cooldowns > 0 && !this.#hasAnswered;
  }

  /** Begins an attempt. Pass it to `end` once. */
  begin(account?: string): Attempt {
    const attempt = { generation: this.#generation, account, heard: this.#heard };
    if (this.#isOnProbation) this.#probe ??= attempt;
    return attempt;
  }

  /** The attempt's answer has begun. That ends a probe, though only a whole answer ends the doubling. */
  answered({ generation }: Attempt): void {
    this.#heard += 1;
    if (generation === this.#generation) this.#hasAnswered = true;
  }

  /** More of an answer has come. */
  goesOn(): void {
    this.#heard += 1;
  }

  /** Whether the target has sent nobody any output since the attempt began. */
  isSilentSince({ heard }: Attempt): boolean {
    return heard === this.#heard;
  }

  end(attempt: Attempt, how: AttemptEnd, now: number): void {
    if (attempt === this.#probe) this.#probe = undefined;
    if (attempt.generation !== this.#generation || how === 'left') return;
    this.#recent.push({ isFailure: how === 'failure', account: attempt.account });
    if (this.#recent.length > WINDOW) this.#recent.shift();
    if (how === 'failure') {
      this.#accounts.add(attempt.account);
      this.#failed(now);
      return;
    }
    this.#inARow = this.#cooldowns = 0;
    this.#accounts.clear();
  }

  /** The target asked not to be called for a while. */
  pauseFor(ms: number, now: number): void {
    this.#pausedUntil = Math.max(this.#pausedUntil, now + Math.min(ms, LONGEST_COOLDOWN_MS));
  }

  #failed(now: number): void {
    this.#inARow += 1;
    const failures = this.#recent.filter(({ isFailure }) => isFailure);
    const isHalf = this.#recent.length === WINDOW && failures.length >= FAILURES_IN_WINDOW;
    if (this.#cooldowns === 0 && this.#inARow < FAILURES_IN_A_ROW && !isHalf) return;
    if (isHalf) for (const { account } of failures) this.#accounts.add(account);
    this.#cooledUntil = now + Math.min(SHORTEST_MS * 2 ** this.#cooldowns, LONGEST_COOLDOWN_MS);
    this.#suspect = this.#accounts.size === 1 ? [...this.#accounts][0] : undefined;
    this.#cooldowns += 1;
    this.#generation += 1;
    this.#probe = undefined;
    this.#hasAnswered = false;
    this.#inARow = 0;
    this.#recent = [];
  }
}
