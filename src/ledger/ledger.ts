/**
 * The ledger of charges. It admits requests, and a response leaves only once its charge is final. Contract section 5,
 * argued in docs/decisions/0010-the-ledgers-protocol.md.
 */

import { GroupCommit } from '../concurrency/group-commit.ts';
import type { Database } from '../database/client.ts';
import type { PlanCatalog } from '../domain/plans.ts';
import { ApiError, accountGone } from '../errors.ts';
import { processId } from '../store/leases.ts';
import type { SettleResult } from '../store/ledger.ts';
import { readUsage, type UsageReading } from '../store/usage.ts';
import { Metrics } from '../telemetry/metrics.ts';
import type { OutageLog } from '../telemetry/outage-log.ts';
import { Admissions } from './admissions.ts';
import type { Retry } from './idempotency.ts';
import { quotaExceeded } from './quota.ts';
import { settlementOf, storedTokens } from './settlement.ts';
import {
  type Admission,
  type Charge,
  fits,
  type Outcome,
  type Replay,
  type RetryableCharge,
} from './types.ts';
import { UnitsInFlight } from './units-in-flight.ts';
import { LedgerWriter } from './writer.ts';

const READ_AT_ONCE = 200;
const WAITING_READERS = 10_000;

/** The table's message says that nothing was charged. Here the charge is unknown. */
const perhapsCharged = (cause: unknown) =>
  new ApiError('serviceUnavailable', {
    message:
      'The service lost its database connection during this request. The request may remain charged; check your usage. If it had an `Idempotency-Key`, retry with the same key to be charged only once.',
    cause,
  });

const failureKind = ({ attempt, held }: Admission) => {
  if (attempt !== undefined) return 'rerun';
  return held === undefined ? 'refund' : 'uncharged';
};

export class Ledger {
  readonly #writer: LedgerWriter;
  readonly #admissions: Admissions;
  readonly #readings: GroupCommit<string, UsageReading | undefined>;
  readonly #metrics: Metrics;
  /** Charges already counted as refunded. After a failed settlement, a charge is refunded twice but counts once. */
  readonly #refunded = new WeakSet<Admission>();

  /** @param process - the ID of this process, which holds a lease under it */
  constructor(
    database: Database,
    plans: PlanCatalog,
    log: OutageLog,
    metrics = new Metrics(),
    process = processId(),
  ) {
    this.#metrics = metrics;
    this.#readings = new GroupCommit({
      ...{ batchSize: READ_AT_ONCE, queueSize: WAITING_READERS },
      write: async (accountIds) => {
        const found = await readUsage(database, accountIds);
        return accountIds.map((id) => found.get(id));
      },
    });
    const inFlight = new UnitsInFlight();
    this.#writer = new LedgerWriter(
      { database, plans, log, metrics, process },
      ({ account_id: accountId, meter }) => inFlight.held({ accountId, meter }),
    );
    this.#admissions = new Admissions({
      ...{ db: database.db, plans, metrics, inFlight, writer: this.#writer },
      readUsage: this.usage,
    });
  }

  get process(): string {
    return this.#writer.process;
  }

  /** The number of charges that Parley settles once the database is back. */
  get unsettled(): number {
    return this.#writer.unsettled;
  }

  start = (): Promise<void> => this.#writer.start();

  stop = (): Promise<void> => this.#writer.stop();

  /** Today's usage by the database's clock; undefined if the account is gone. Concurrent readers share a query. */
  usage = (accountId: string): Promise<UsageReading | undefined> => this.#readings.submit(accountId);

  /**
   * Admits a request before any work is done. A retry gets its stored response without a check of the quota. The caller
   * must finalize or refund each admission.
   *
   * @throws ApiError `quotaExceeded` if the quota does not hold all units; `idempotencyMismatch`,
   *   `idempotencyInProgress`; `internalError` if our side failed twice more under the same key; `apiKeyRevoked` or
   *   `sessionRequired` if the account no longer exists; `overloaded`, `serviceUnavailable`
   */
  admit(charge: RetryableCharge): Promise<Admission | Replay>;
  admit(charge: Charge): Promise<Admission>;
  admit(charge: Charge & { retry?: Retry | undefined }): Promise<Admission | Replay> {
    return this.#admissions.admit(charge);
  }

  /** Looks up the response to replay, if it is stored yet. Charges nothing. Throws `idempotencyMismatch`. */
  findReplay(charge: Pick<Charge, 'accountId' | 'keyId'>, retry: Retry): Promise<Replay | undefined> {
    return this.#admissions.findReplay(charge, retry);
  }

  /**
   * Makes a charge final. Await it before sending any part of the response. Omit `outcome` if the response only starts.
   *
   * @throws ApiError `quotaExceeded` if other requests have used the units since the reading that admitted this one;
   *   `serviceUnavailable` if the charge was refunded; `apiKeyRevoked` or `sessionRequired` if the account is gone
   */
  async finalize(admission: Admission, outcome?: Outcome): Promise<void> {
    if (admission.attempt !== undefined) {
      if (outcome !== undefined) await this.complete(admission, outcome);
      return;
    }
    const row = settlementOf(admission.held === undefined ? 'final' : 'charge', admission, outcome);
    let settled: SettleResult | undefined;
    admission.held?.settle();
    try {
      do settled = await this.#writer.settle(row);
      while (settled.outcome === 'refused' && fits(settled, admission));
    } catch (error) {
      // The client got nothing and will get nothing. If the write did take effect, the charge stays final.
      const isRefunded = await this.refund(admission, { code: 'serviceUnavailable', statusCode: 503 });
      throw this.#writer.mayHaveSettled(row) && !isRefunded ? perhapsCharged(error) : error;
    } finally {
      const used = settled?.outcome === 'other' ? undefined : settled?.used;
      admission.held?.end(used === undefined ? undefined : { day: admission.day, used });
    }
    if (settled.outcome === 'settled') return this.#noteEnd(admission, 'final', outcome);
    if (settled.outcome === 'refused') throw this.#refusedLate(admission, settled);
    if (admission.held !== undefined) throw accountGone(admission.keyId);
    // The sweep refunded the charge, or another attempt's response is stored under the idempotency key.
    throw outcome?.answer === undefined ? new ApiError('serviceUnavailable') : perhapsCharged(undefined);
  }

  #refusedLate(
    { meter, reading, units }: Admission,
    { ceiling, used }: { ceiling: number; used: number },
  ): ApiError {
    this.#metrics.charges.inc({ meter, step: 'refused' });
    return quotaExceeded({ meter, used, ceiling, readAt: reading?.readAt ?? new Date() }, units);
  }

  /**
   * Records the outcome of a charge after the first byte. If the write fails, the ledger repeats it in the background.
   *
   * @throws ApiError `serviceUnavailable` if another attempt's response is stored instead; the error of a failed write
   */
  async complete(admission: Admission, outcome: Outcome): Promise<void> {
    const kind = admission.attempt === undefined ? 'complete' : 'rerun';
    const row = settlementOf(kind, admission, outcome);
    const settled = await this.#writer.settle(row).catch((error) => {
      this.#writer.abandon(row);
      throw error;
    });
    this.#noteTokens(admission, outcome);
    if (settled.outcome !== 'settled' && outcome.answer !== undefined)
      throw new ApiError('serviceUnavailable');
  }

  /**
   * Refunds a charge whose work failed before its first byte. If the write fails, the ledger repeats it later. A
   * resumed charge stays final, and can be resumed again. Returns whether the database has recorded the refund.
   */
  async refund(admission: Admission, failure: { code: string | null; statusCode: number }): Promise<boolean> {
    const kind = failureKind(admission);
    const row = settlementOf(kind, admission, { model: null, inputTokens: 0, outputTokens: 0, failure });
    admission.held?.end();
    try {
      const isWritten = (await this.#writer.settle(row)).outcome === 'settled';
      if (isWritten && kind !== 'rerun' && !this.#refunded.has(admission)) {
        this.#refunded.add(admission);
        this.#noteEnd(admission, 'refunded');
      }
      return isWritten;
    } catch {
      this.#writer.abandon(row);
      return false;
    }
  }

  #noteEnd(admission: Admission, step: 'final' | 'refunded', outcome?: Outcome): void {
    this.#metrics.charges.inc({ meter: admission.meter, step });
    if (outcome !== undefined) this.#noteTokens(admission, outcome);
  }

  #noteTokens({ reserved, tokens = 0 }: Admission, { inputTokens, outputTokens }: Outcome): void {
    const excess = inputTokens + outputTokens - tokens;
    if (reserved !== undefined && excess > 0) this.#metrics.excessTokens.inc(excess);
    this.#metrics.tokens.inc({ direction: 'input' }, storedTokens(inputTokens) ?? 0);
    this.#metrics.tokens.inc({ direction: 'output' }, storedTokens(outputTokens) ?? 0);
  }
}
