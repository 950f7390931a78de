/** Records key uses and writes them once a second, off the request path. Contract section 2, `last_used_at`. */
import { FlushTimer } from '../concurrency/flush-timer.ts';
import type { Db } from '../database/client.ts';
import { type KeyId, recordKeyUses } from '../store/keys.ts';

/** Each key is recorded once per window. `last_used_at` lags by that, a flush, and other processes' writes. */
const WINDOW_MS = 30_000;
/** The limit per window. Uses of further keys are not recorded. */
const KEYS_AT_MOST = 50_000;
const ROWS_AT_MOST = 5000;

type DebugLog = { debug(details: object, message: string): void };

export class KeyUses {
  readonly #db: Db;
  readonly #log: DebugLog;
  #noted = new Set<string>();
  #waiting: (KeyId & { usedAt: number })[] = [];
  #windowEndsAt = 0;
  readonly #timer = new FlushTimer(() => this.#write());

  constructor(db: Db, log: DebugLog) {
    this.#db = db;
    this.#log = log;
  }

  note(accountId: string, id: string): void {
    if (this.#noted.has(id) || this.#noted.size >= KEYS_AT_MOST) return;
    this.#noted.add(id);
    this.#waiting.push({ accountId, id, usedAt: performance.now() });
  }

  start(): void {
    this.#timer.start();
  }

  stop(): Promise<void> {
    return this.#timer.stop();
  }

  async #write(): Promise<void> {
    if (performance.now() > this.#windowEndsAt) {
      this.#noted = new Set();
      this.#windowEndsAt = performance.now() + WINDOW_MS;
    }
    const batch = this.#waiting.splice(0, ROWS_AT_MOST);
    if (batch.length === 0) return;
    const now = performance.now();
    const uses = batch.map(({ accountId, id, usedAt }) => ({ accountId, id, ageMs: now - usedAt }));
    try {
      await recordKeyUses(this.#db, uses);
    } catch (error) {
      this.#log.debug({ err: error, rows: batch.length }, 'Could not record key usage; retrying.');
      if (this.#waiting.length < KEYS_AT_MOST) this.#waiting.unshift(...batch);
    }
  }
}
