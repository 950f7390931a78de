/** The health of a target. Failures cool it down, then one request at a time probes it. Contract section 15. */

const FAILURES_IN_A_ROW = 5;
const WINDOW = 20;
const FAILURES_IN_WINDOW = WINDOW / 2;
const MIN_COOLDOWN_MS = 5000;
export const MAX_COOLDOWN_MS = 5 * 60_000;

/** `left`: the attempt ended without showing whether the target works. */
export type AttemptEnd = 'success' | 'failure' | 'left';

/** `coolingDownForAccount`: the cooldown applies only to the account whose requests failed. */
export type HealthState = 'working' | 'coolingDown' | 'coolingDownForAccount' | 'probing';

export type Attempt = {
  readonly generation: number;
  readonly account: string | undefined;
  /** How many replies and chunks the target had sent, to any client, when the attempt began. */
  readonly received: number;
};

export class Health {
  /** The latest outcomes, oldest first. */
  #recent: { isFailure: boolean; account: string | undefined }[] = [];
  #inARow = 0;
  /** Cooldowns since the last success. */
  #cooldowns = 0;
  #cooledUntil = Number.NEGATIVE_INFINITY;
  /** End of the pause that the target requested. */
  #pausedUntil = Number.NEGATIVE_INFINITY;
  /** The accounts of the failures since the last success, and of the failures that caused the cooldown. */
  readonly #accounts = new Set<string | undefined>();
  /** Set if one account caused all failures behind the cooldown: its requests may be at fault. */
  #suspect: string | undefined;
  /** The number of cooldowns. Attempts that began before the latest cooldown do not count after it. */
  #generation = 0;
  #probe: Attempt | undefined;
  /** Whether a reply has begun since the last cooldown. */
  #hasAnswered = false;
  /** Counts replies that began, and their chunks. */
  #received = 0;

  /** When the cooldown or pause ends, on the caller's clock in milliseconds. In the past if the target works. */
  get until(): number {
    return Math.max(this.#cooledUntil, this.#pausedUntil);
  }

  /**
   * Whether an account may use the target now: it works, or its cooldown is over and no request is probing it. If one
   * account caused the cooldown, the cooldown applies only to that account until a request of another account fails.
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

  /** Begins an attempt. Pass the attempt to `end` once. */
  begin(account?: string): Attempt {
    const attempt = { generation: this.#generation, account, received: this.#received };
    if (this.#isOnProbation) this.#probe ??= attempt;
    return attempt;
  }

  /** Records that the reply has begun. This ends a probe, but only a complete reply resets the length of cooldowns. */
  answered({ generation }: Attempt): void {
    this.#received += 1;
    if (generation === this.#generation) this.#hasAnswered = true;
  }

  /** Records another chunk of a reply. */
  goesOn(): void {
    this.#received += 1;
  }

  /** Whether the target has sent no output to any client since the attempt began. */
  isSilentSince({ received }: Attempt): boolean {
    return received === this.#received;
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

  /** Pauses the target at its own request, for at most `MAX_COOLDOWN_MS`. */
  pauseFor(ms: number, now: number): void {
    this.#pausedUntil = Math.max(this.#pausedUntil, now + Math.min(ms, MAX_COOLDOWN_MS));
  }

  #failed(now: number): void {
    this.#inARow += 1;
    const failures = this.#recent.filter(({ isFailure }) => isFailure);
    const isHalf = this.#recent.length === WINDOW && failures.length >= FAILURES_IN_WINDOW;
    if (this.#cooldowns === 0 && this.#inARow < FAILURES_IN_A_ROW && !isHalf) return;
    if (isHalf) for (const { account } of failures) this.#accounts.add(account);
    this.#cooledUntil = now + Math.min(MIN_COOLDOWN_MS * 2 ** this.#cooldowns, MAX_COOLDOWN_MS);
    this.#suspect = this.#accounts.size === 1 ? [...this.#accounts][0] : undefined;
    this.#cooldowns += 1;
    this.#generation += 1;
    this.#probe = undefined;
    this.#hasAnswered = false;
    this.#inARow = 0;
    this.#recent = [];
  }
}
