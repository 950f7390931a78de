/**
 * Writes admissions and settlements in batches, holds the lease, and repairs charges after an outage. Contract section
 * 5, reliability tests 25, 30, 32, 33 and 35.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { type Database, mayHaveTakenEffect, sqlState, wasNotSent } from '../database/client.ts';
import { ceilingsOf, type PlanCatalog, tokensCeilingOf } from '../domain/plans.ts';
import { ApiError } from '../errors.ts';
import {
  type AdmissionRules,
  admitCharges,
  type ChargeRow,
  type Decision,
  type HeldUnits,
  NO_LEASE,
  renewLease,
  type SettlementRow,
  type SettleResult,
  settleCharges,
  sweepCharges,
} from '../store/ledger.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import { loggingOutages, type OutageLog } from '../telemetry/outage-log.ts';
import { AccountQueues, isRefusal } from './account-queues.ts';

const LEASE_SECONDS = 20;
const RENEW_MS = 4000;
const SWEEP_MS = 5000;
const SWEEP_AT_MOST = 500;
const REPAIR_MS = 1000;

/** How long an unacknowledged batch is retried before its requests fail. */
const RESEND_MS = 3000;
const RESEND_PAUSE_MS = 100;

/** How long the writer keeps refunding a failed admission that may still arrive. */
const ABANDONED_MS = 60_000;
const ABANDONED_AT_ONCE = 1000;

const DAY_MS = 86_400_000;

type LedgerWrite = 'admission' | 'settlement';

const unavailable = (cause: unknown) => new ApiError('serviceUnavailable', { cause });

type Parts = {
  database: Database;
  plans: PlanCatalog;
  log: OutageLog;
  metrics: Metrics;
  process: string;
};

export class LedgerWriter {
  readonly process: string;
  readonly #database: Database;
  readonly #rules: AdmissionRules;
  readonly #held: HeldUnits;
  readonly #log: OutageLog;
  readonly #metrics: Metrics;
  readonly #admissions: AccountQueues<ChargeRow, Decision | undefined>;
  readonly #settlements: AccountQueues<SettlementRow, SettleResult>;
  /** Rows sent but not acknowledged. They may have taken effect, so the charge's next statement has to check. */
  readonly #unanswered = new WeakSet<ChargeRow | SettlementRow>();
  readonly #abandoned = new Map<string, { row: SettlementRow; until: number }>();
  readonly #timers: NodeJS.Timeout[] = [];
  /** Runs of the timers that have not finished. */
  readonly #running = new Set<Promise<void>>();
  #isSettlingAbandoned = false;

  constructor({ database, log, metrics, plans, process }: Parts, held: HeldUnits = () => undefined) {
    this.process = process;
    this.#database = database;
    this.#held = held;
    this.#metrics = metrics;
    this.#log = log;
    this.#rules = {
      ceilings: Object.fromEntries(
        plans.plans.map((plan) => [plan.id, { ...ceilingsOf(plan), tokens: tokensCeilingOf(plan) }]),
      ),
      standard: plans.standard.id,
      holder: this.process,
    };
    this.#admissions = new AccountQueues(
      (rows, lockTimeoutMs) => this.#admitBatch(rows, lockTimeoutMs),
      database.queues,
    );
    this.#settlements = new AccountQueues(
      (rows, lockTimeoutMs) => this.#settleBatch(rows, lockTimeoutMs),
      database.queues,
      ({ answer, response, turn }) =>
        (answer?.body?.length ?? 0) +
        (turn?.answer.length ?? 0) +
        (turn?.image_urls?.length ?? 0) +
        (response === undefined ? 0 : response.input.length + response.body.length),
    );
  }

  /** @returns undefined if the account no longer exists */
  async admit(row: ChargeRow): Promise<Decision | undefined> {
    const startedAt = performance.now();
    try {
      return await this.#admissions.submit(row);
    } catch (error) {
      if (this.#unanswered.has(row)) this.abandonAdmission(row);
      throw error;
    } finally {
      this.#noteWait('admission', startedAt);
    }
  }

  settle(row: SettlementRow): Promise<SettleResult> {
    const startedAt = performance.now();
    return this.#settlements.submit(row).finally(() => this.#noteWait('settlement', startedAt));
  }

  #noteWait(kind: LedgerWrite, startedAt: number): void {
    this.#metrics.ledgerSeconds.observe({ kind }, (performance.now() - startedAt) / 1000);
  }

  mayHaveSettled = (row: SettlementRow): boolean => this.#unanswered.has(row);

  /** Settles a charge, if it exists, once the database is back. Its admission may still arrive until `until`. */
  abandon(row: SettlementRow, until = 0): void {
    this.#abandoned.set(`${row.day}/${row.id}`, { row, until });
  }

  get unsettled(): number {
    return this.#abandoned.size;
  }

  async start(): Promise<void> {
    await this.#renew();
    const every = (ms: number, name: string, work: () => Promise<unknown>) => {
      const logged = loggingOutages(this.#log, name, work);
      const run = () => {
        const running = logged().finally(() => this.#running.delete(running));
        this.#running.add(running);
      };
      this.#timers.push(setInterval(run, ms).unref());
    };
    every(RENEW_MS, 'Renewing the ledger lease', () => this.#renew());
    every(SWEEP_MS, 'Sweeping the ledger', () => this.#sweep());
    every(REPAIR_MS, 'Settling delayed charges', () => this.#settleAbandoned());
  }

  async stop(): Promise<void> {
    for (const timer of this.#timers.splice(0)) clearInterval(timer);
    await this.#admissions.idle();
    await this.#settlements.idle();
    // A renewal that arrives later would keep alive the lease of a process that has exited.
    await Promise.all(this.#running);
    this.#noteUnwritten();
    // Expires the lease, so that another process can sweep the remaining admissions at once.
    try {
      await renewLease(this.#database, this.process, -1);
      await this.#sweep();
    } catch (err) {
      this.#log.error(
        { err },
        `Could not end the ledger lease. It expires within ${LEASE_SECONDS} seconds. Then another process refunds open charges.`,
      );
    }
  }

  #noteUnwritten(): void {
    // An admission whose day is unknown has one row per possible day.
    const charges = new Set([...this.#abandoned.values()].map(({ row }) => row.id)).size;
    if (charges === 0) return;
    this.#log.error(
      { charges, rows: this.#abandoned.size },
      `Shut down with ${charges} unsettled ${charges === 1 ? 'charge' : 'charges'}. The next sweep of the ledger, by any process, refunds those that are still open. The others stay charged, without their final details.`,
    );
  }

  #renew = (): Promise<void> => renewLease(this.#database, this.process, LEASE_SECONDS);

  async #sweep(): Promise<void> {
    while ((await sweepCharges(this.#database, SWEEP_AT_MOST)) === SWEEP_AT_MOST);
  }

  async #settleAbandoned(): Promise<void> {
    if (this.#isSettlingAbandoned) return;
    this.#isSettlingAbandoned = true;
    const waiting = [...this.#abandoned].slice(0, ABANDONED_AT_ONCE);
    const settled = waiting.map(([name, { row, until }]) => this.#settleOneAbandoned(name, row, until));
    const results = await Promise.allSettled(settled);
    this.#isSettlingAbandoned = false;
    for (const result of results) if (result.status === 'rejected') throw result.reason;
  }

  async #settleOneAbandoned(name: string, row: SettlementRow, until: number): Promise<void> {
    let isOver = false;
    try {
      isOver = (await this.settle(row)).outcome === 'settled' || Date.now() > until;
    } catch (error) {
      // A row that the database rejected will be rejected again. All other failures are retried.
      isOver = isRefusal(error);
      throw error;
    } finally {
      if (this.#abandoned.get(name)?.row === row) {
        this.#abandoned.delete(name);
        if (!isOver) this.#abandoned.set(name, { row, until });
      }
    }
  }

  async #admitBatch(rows: ChargeRow[], lockTimeoutMs: number): Promise<(Decision | undefined)[]> {
    const decisions = await this.#sendUntilAnswered('admission', rows, () => {
      const isRepeated = rows.some((row) => this.#unanswered.has(row));
      return admitCharges(this.#database, rows, this.#rules, isRepeated, lockTimeoutMs, this.#held);
    });
    const byId = new Map(decisions.map((decision) => [decision.id, decision]));
    return rows.map(({ id }) => byId.get(id));
  }

  async #settleBatch(rows: SettlementRow[], lockTimeoutMs: number): Promise<SettleResult[]> {
    const settled = await this.#sendUntilAnswered('settlement', rows, () => {
      const isRepeated = rows.some((row) => this.#unanswered.has(row));
      return settleCharges(this.#database, rows, this.#rules, isRepeated, lockTimeoutMs);
    });
    return rows.map(({ id }) => settled.get(id) ?? { outcome: 'other' });
  }

  /**
   * Sends a batch until the database responds. A lost connection leaves the outcome unknown, so every batch is safe to
   * repeat.
   */
  async #sendUntilAnswered<T>(
    kind: LedgerWrite,
    rows: readonly (ChargeRow | SettlementRow)[],
    send: () => Promise<T>,
  ): Promise<T> {
    const deadline = Date.now() + RESEND_MS;
    this.#metrics.batchSize.observe({ kind }, rows.length);
    const stopTimer = this.#metrics.batchSeconds.startTimer({ kind });
    let mayHaveArrived = false;
    let needsLease = false;
    for (;;) {
      try {
        if (needsLease) await this.#renew();
        const answer = await send();
        for (const row of rows) this.#unanswered.delete(row);
        stopTimer();
        return answer;
      } catch (error) {
        if (sqlState(error) === NO_LEASE) needsLease = true;
        else if (mayHaveTakenEffect(error)) {
          mayHaveArrived = true;
          for (const row of rows) this.#unanswered.add(row);
        } else if (!mayHaveArrived || !wasNotSent(error)) {
          if (rows.length > 1 && isRefusal(error))
            // Omit the error, because its context can quote a request.
            this.#log.error(
              { code: sqlState(error), kind, rows: rows.length },
              'The database rejected a ledger batch. Sending its rows separately.',
            );
          throw error;
        }
        if (Date.now() > deadline) throw unavailable(error);
        await delay(RESEND_PAUSE_MS);
      }
    }
  }

  /** Abandons an admission that may have succeeded. The day of its charge is unknown too. */
  abandonAdmission({ account_id, id }: ChargeRow): void {
    const now = Date.now();
    for (const days of [-1, 0, 1]) {
      const day = new Date(now + days * DAY_MS).toISOString().slice(0, 10);
      const row: SettlementRow = {
        kind: 'refund',
        account_id,
        id,
        day,
        status: 503,
        code: 'serviceUnavailable',
        model: null,
        input_tokens: null,
        output_tokens: null,
        latency_ms: 0,
      };
      this.abandon(row, now + ABANDONED_MS);
    }
  }
}
