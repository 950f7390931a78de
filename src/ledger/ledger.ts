/**
 * Requests are admitted, by the ledger or from a reading of it. Answers leave once the charge is final. Contract
 * section 5, argued in docs/decisions/0010-the-ledgers-protocol.md.
 */

import { GroupCommit } from '../concurrency/group-commit.ts';
import type { Database } from '../database/client.ts';
import type { PlanCatalogue } from '../domain/plans.ts';
import { ApiError, accountGone } from '../errors.ts';
import { processId } from '../store/leases.ts';
import type { Settled } from '../store/ledger.ts';
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

/** The table's message says that nothing was charged, which is unknown here. */
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
  /** A charge whose settlement failed is refunded twice, and counts once. */
  readonly #refunded = new WeakSet<Admission>();

  /** @param process - the ID of this process, under which it holds a lease */
  constructor(
    database: Database,
    plans: PlanCatalogue,
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

  /** Charges that wait for the database to return, to be settled. */
  get unsettled(): number {
    return this.#writer.unsettled;
  }

  start = (): Promise<void> => this.#writer.start();

  stop = (): Promise<void> => this.#writer.stop();

  /** Today's usage by the database's clock; undefined if the account is gone. Readers that come together share a query. */
  usage = (accountId: string): Promise<UsageReading | undefined> => this.#readings.submit(accountId);

  /**
   * Admits a request before any work is done. A retry is answered before the quota is checked. Finalise or refund what
   * is admitted.
   *
   * @throws ApiError `quotaExceeded` if the quota does not hold all units; `idempotencyMismatch`,
   *   `idempotencyInProgress`; `internalError` if our side failed twice more under the same key; `apiKeyRevoked` or
   *   `sessionRequired` if the account is gone; `overloaded`, `serviceUnavailable`
   */
  admit(charge: RetryableCharge): Promise<Admission | Replay>;
  admit(charge: Charge): Promise<Admission>;
  admit(charge: Charge & { retry?: Retry | undefined }): Promise<Admission | Replay> {
    return this.#admissions.admit(charge);
  }

  /** Charges nothing. Returns undefined if no answer is stored yet. Throws `idempotencyMismatch`. */
  findReplay(charge: Pick<Charge, 'accountId' | 'keyId'>, retry: Retry): Promise<Replay | undefined> {
    return this.#admissions.findReplay(charge, retry);
  }

  /**
   * No part of the answer may leave before this returns. Omit `outcome` if the answer is only starting.
   *
   * @throws ApiError `quotaExceeded` if other requests have used the units since the reading that admitted this one;
   *   `serviceUnavailable` if the charge was refunded meanwhile; `apiKeyRevoked` or `sessionRequired` if the account is gone
   */
  async finalise(admission: Admission, outcome?: Outcome): Promise<void> {
    if (admission.attempt !== undefined) {
      if (outcome !== undefined) await this.complete(admission, outcome);
      return;
    }
    const row = settlementOf(admission.held === undefined ? 'final' : 'charge', admission, outcome);
    let settled: Settled | undefined;
    admission.held?.settle();
    try {
      do settled = await this.#writer.settle(row);
      while (settled.outcome === 'refused' && fits(settled, admission));
    } catch (error) {
      // Nothing was or will be delivered. If the write did take effect, the charge stays final.
      const isRefunded = await this.refund(admission, { code: 'serviceUnavailable', statusCode: 503 });
      throw this.#writer.mayHaveSettled(row) && !isRefunded ? perhapsCharged(error) : error;
    } finally {
      const used = settled?.outcome === 'other' ? undefined : settled?.used;
      admission.held?.end(used === undefined ? undefined : { day: admission.day, used });
    }
    if (settled.outcome === 'settled') return this.#noteEnd(admission, 'final', outcome);
    if (settled.outcome === 'refused') throw this.#refusedLate(admission, settled);
    if (admission.held !== undefined) throw accountGone(admission.keyId);
    // The sweep refunded it, or another attempt's answer is stored under the idempotency key.
    throw outcome?.answer === undefined ? new ApiError('serviceUnavailable') : perhapsCharged(undefined);
  }

  #refusedLate(
    { meter, reading }: Admission,
    { ceiling, used }: { ceiling: number; used: number },
  ): ApiError {
    this.#metrics.charges.inc({ meter, step: 'refused' });
    return quotaExceeded({ meter, used, ceiling, readAt: reading?.readAt ?? new Date() });
  }

  /**
   * Adds what became known after the first byte; during an outage, later.
   *
   * @throws ApiError `serviceUnavailable` if another attempt's answer is stored instead
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
   * For work that failed before its first byte; during an outage, later. A resumed charge stays, and the next request
   * with its idempotency key resumes it. Returns whether it is written already.
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
