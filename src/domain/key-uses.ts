/** Notes which keys are used and writes it down once a second, off the requests' path. Contract section 2, `last_used_at`. */
import { setTimeout as delay } from 'node:timers/promises';
import type { Db } from '../database/client.ts';
import { type KeyId, recordKeyUses } from '../store/keys.ts';

const FLUSH_MS = 1000;
/** A key is noted once in so long: what is recorded lags behind by that, a flush, and what another process recorded. */
const WINDOW_MS = 30_000;
/** A database that hangs does not keep the process from ending. */
const STOP_MS = 2000;
/** Keys in a window; the uses of more are not recorded. */
const KEYS_AT_MOST = 50_000;
const ROWS_AT_MOST = 5000;

type DebugLog = { debug(details: object, message: string): void };

export class KeyUses {
  readonly #db: Db;
  readonly #log: DebugLog;
  #noted = new Set<string>();
  #waiting: (KeyId & { usedAt: number })[] = [];
  #writing: Promise<void> | undefined;
  #windowEndsAt = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(db: Db, log: DebugLog) {
    this.#db = db;
    this.#log = log;
  }

  /** A key is being used now. */
  note(accountId: string, id: string): void {
    if (this.#noted.has(id) || this.#noted.size >= KEYS_AT_MOST) return;
    this.#noted.add(id);
    this.#waiting.push({ accountId, id, usedAt: performance.now() });
  }

  start(): void {
    this.#timer = setInterval(() => void this.#flush(), FLUSH_MS).unref();
  }

  /** Writes what is noted. */
  async stop(): Promise<void> {
    clearInterval(this.#timer);
    const written = async () => {
      await this.#writing;
      await this.#flush();
    };
    await Promise.race([written(), delay(STOP_MS, undefined, { ref: false })]);
  }

  #flush(): Promise<void> {
    if (performance.now() > this.#windowEndsAt) {
      this.#noted = new Set();
      this.#windowEndsAt = performance.now() + WINDOW_MS;
    }
    this.#writing ??= this.#write().finally(() => {
      this.#writing = undefined;
    });
    return this.#writing;
  }

  async #write(): Promise<void> {
    const batch = this.#waiting.splice(0, ROWS_AT_MOST);
    if (batch.length === 0) return;
    const now = performance.now();
    const uses = batch.map(({ accountId, id, usedAt }) => ({ accountId, id, ageMs: now - usedAt }));
    try {
      await recordKeyUses(this.#db, uses);
    } catch (error) {
      this.#log.debug(
        { err: error, rows: batch.length },
        'Uses of keys could not be recorded; trying again.',
      );
      if (this.#waiting.length < KEYS_AT_MOST) this.#waiting.unshift(...batch);
    }
  }
}
