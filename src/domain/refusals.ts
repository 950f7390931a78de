/**
 * Counts refused requests of known accounts and writes the counts down once a second. Best effort, contract section 5:
 * what cannot be written is dropped, so that a refusal costs neither a statement nor memory without bound.
 */
import type { Db } from '../database/client.ts';
import { addRefusals, type RefusalCount } from '../store/refusals.ts';
import { FlushTimer } from './flush-timer.ts';

/** Different accounts, keys and codes that are counted between two writes; more are not counted. */
export const REFUSALS_AT_MOST = 10_000;

/** What the log tells a client it did wrong, or the service: not what never reached an account (401) or made no sense (400…). */
export const isCountedStatus = (status: number): boolean => status === 403 || status === 429 || status >= 500;

export type Refusal = Omit<RefusalCount, 'count'>;

type DebugLog = { debug(details: object, message: string): void };

export class Refusals {
  readonly #db: Db;
  readonly #log: DebugLog;
  #counts = new Map<string, RefusalCount>();
  readonly #timer = new FlushTimer(() => this.#write());

  constructor(db: Db, log: DebugLog) {
    this.#db = db;
    this.#log = log;
  }

  /** Counts a refusal; it is in the database a second later. */
  count(refusal: Refusal): void {
    const { accountId, code, keyId } = refusal;
    const key = `${accountId} ${keyId} ${code}`;
    const known = this.#counts.get(key);
    if (known !== undefined) known.count += 1;
    else if (this.#counts.size < REFUSALS_AT_MOST) this.#counts.set(key, { ...refusal, count: 1 });
  }

  start(): void {
    this.#timer.start();
  }

  /** Writes what is counted. */
  flush(): Promise<void> {
    return this.#timer.flush();
  }

  /** Writes what is counted, and nothing after it. */
  stop(): Promise<void> {
    return this.#timer.stop();
  }

  async #write(): Promise<void> {
    if (this.#counts.size === 0) return;
    const counts = [...this.#counts.values()];
    this.#counts = new Map();
    await addRefusals(this.#db, counts).catch((error) =>
      this.#log.debug(
        { err: error, rows: counts.length },
        'Could not record refused requests; their counts are lost.',
      ),
    );
  }
}
