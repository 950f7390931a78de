/** Counts refused requests. Writes counts once a second and drops them if that fails. Contract section 5. */
import { FlushTimer } from '../concurrency/flush-timer.ts';
import type { Db } from '../database/client.ts';
import { addRefusals, type RefusalCount } from '../store/refusals.ts';

/** The most combinations of account, key, and code between two writes. Others are not counted. */
export const MAX_REFUSALS = 10_000;

/** Whether the log includes refusals with this status. It excludes unauthorized (401) and malformed (400…) requests. */
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

  count(refusal: Refusal): void {
    const { accountId, code, keyId } = refusal;
    const key = `${accountId} ${keyId} ${code}`;
    const known = this.#counts.get(key);
    if (known !== undefined) known.count += 1;
    else if (this.#counts.size < MAX_REFUSALS) this.#counts.set(key, { ...refusal, count: 1 });
  }

  start(): void {
    this.#timer.start();
  }

  flush(): Promise<void> {
    return this.#timer.flush();
  }

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
