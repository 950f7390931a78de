/**
 * How the ledger reaches the database: in batches, through outages whose outcome is unknown, under a lease.
 * Contract section 5, reliability tests 25, 30, 32, 33 and 35.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { v7 as uuidv7 } from 'uuid';
import { ApiError } from '../errors.ts';
import { type Database, mayHaveTakenEffect, sqlState, wasNotSent } from '../store/client.ts';
import {
  type AdmissionRules,
  admitCharges,
  type ChargeRow,
  type Decision,
  NO_LEASE,
  renewLease,
  type SettlementRow,
  settleCharges,
  sweepCharges,
} from '../store/ledger.ts';
import { AccountLanes } from './account-lanes.ts';
import type { PlanCatalogue } from './plans.ts';

const LEASE_SECONDS = 20;
const RENEW_MS = 4000;
const SWEEP_MS = 5000;
const SWEEP_AT_MOST = 500;

/** For so long a batch whose answer was lost is sent again; then its requests fail. */
const RESEND_MS = 3000;
const RESEND_PAUSE_MS = 100;

/** For so long after it failed, an admission that may still arrive is refunded again and again. */
const ABANDONED_MS = 60_000;
const ABANDONED_LOCK_TIMEOUT_MS = 1000;

const DAY_MS = 86_400_000;

const unavailable = (cause: unknown) =>
  new ApiError('serviceUnavailable', { headers: { 'retry-after': '1' }, cause });

export class LedgerWriter {
  readonly process: string = uuidv7();
  readonly #database: Database;
  readonly #rules: AdmissionRules;
  readonly #admissions: AccountLanes<ChargeRow, Decision | undefined>;
  readonly #settlements: AccountLanes<SettlementRow, boolean>;
  /** Charges that were sent and not answered: they may stand, and their next statement has to look for them. */
  readonly #unanswered = new WeakSet<ChargeRow>();
  readonly #abandoned = new Map<string, { row: SettlementRow; until: number }>();
  readonly #timers: NodeJS.Timeout[] = [];

  constructor(database: Database, plans: PlanCatalogue) {
    this.#database = database;
    this.#rules = {
      ceilings: Object.fromEntries(plans.plans.map((plan) => [plan.id, plan.limits])),
      standard: plans.standard.id,
      holder: this.process,
    };
    this.#admissions = new AccountLanes((rows, lockTimeoutMs) => this.#admitBatch(rows, lockTimeoutMs));
    this.#settlements = new AccountLanes((rows, lockTimeoutMs) => this.#settleBatch(rows, lockTimeoutMs));
  }

  /** @returns undefined when the account is gone */
  admit = (row: ChargeRow): Promise<Decision | undefined> =>
    this.#admissions.submit(row).catch((error) => {
      if (this.#unanswered.has(row)) this.#abandonAdmission(row);
      throw error;
    });

  /** @returns whether the charge is now in the state asked for */
  settle = (row: SettlementRow): Promise<boolean> => this.#settlements.submit(row);

  /**
   * Refunds a charge as soon as the database is back, if it was ever made.
   *
   * @param until - where its admission may still arrive, how long that is possible: milliseconds since 1970
   */
  abandon(row: SettlementRow, until = 0): void {
    this.#abandoned.set(`${row.day}/${row.id}`, { row, until });
  }

  async start(): Promise<void> {
    await this.#renew();
    const every = (ms: number, work: () => Promise<unknown>) => {
      // A failure shows in the requests that it concerns; the next turn tries again.
      this.#timers.push(setInterval(() => void work().catch(() => {}), ms).unref());
    };
    every(RENEW_MS, () => this.#renew());
    every(SWEEP_MS, () => this.#sweep());
    every(1000, () => this.#refundAbandoned());
  }

  async stop(): Promise<void> {
    for (const timer of this.#timers.splice(0)) clearInterval(timer);
    await this.#admissions.idle();
    await this.#settlements.idle();
    // Whatever is still admitted is for the sweep of another process, at once.
    await renewLease(this.#database, this.process, -1).catch(() => {});
    await this.#sweep().catch(() => {});
  }

  #renew = (): Promise<void> => renewLease(this.#database, this.process, LEASE_SECONDS);

  async #sweep(): Promise<void> {
    while ((await sweepCharges(this.#database, SWEEP_AT_MOST)) === SWEEP_AT_MOST);
  }

  async #refundAbandoned(): Promise<void> {
    const waiting = [...this.#abandoned.values()];
    for (let from = 0; from < waiting.length; from += SWEEP_AT_MOST) {
      const batch = waiting.slice(from, from + SWEEP_AT_MOST);
      const rows = batch.map(({ row }) => row);
      const refunded = await settleCharges(this.#database, rows, ABANDONED_LOCK_TIMEOUT_MS);
      for (const { row, until } of batch) {
        if (refunded.has(row.id) || Date.now() > until) this.#abandoned.delete(`${row.day}/${row.id}`);
      }
    }
  }

  async #admitBatch(rows: ChargeRow[], lockTimeoutMs: number): Promise<(Decision | undefined)[]> {
    const decisions = await this.#sendUntilAnswered(
      () => {
        const isRepeated = rows.some((row) => this.#unanswered.has(row));
        return admitCharges(this.#database, rows, this.#rules, isRepeated, lockTimeoutMs);
      },
      () => {
        for (const row of rows) this.#unanswered.add(row);
      },
    );
    for (const row of rows) this.#unanswered.delete(row);
    const byId = new Map(decisions.map((decision) => [decision.id, decision]));
    return rows.map(({ id }) => byId.get(id));
  }

  async #settleBatch(rows: SettlementRow[], lockTimeoutMs: number): Promise<boolean[]> {
    const settled = await this.#sendUntilAnswered(() => settleCharges(this.#database, rows, lockTimeoutMs));
    return rows.map(({ id }) => settled.has(id));
  }

  /**
   * Sends a batch until the database has answered. A connection that was cut leaves open whether the batch took effect;
   * every batch can be sent again for that reason.
   *
   * @param onUnanswered - called when a batch may have taken effect without an answer
   * @throws ApiError `serviceUnavailable` when there was no answer in time; else what the database said
   */
  async #sendUntilAnswered<T>(send: () => Promise<T>, onUnanswered = () => {}): Promise<T> {
    const deadline = Date.now() + RESEND_MS;
    let mayHaveArrived = false;
    let needsLease = false;
    for (;;) {
      try {
        if (needsLease) await this.#renew();
        return await send();
      } catch (error) {
        if (sqlState(error) === NO_LEASE) needsLease = true;
        else if (mayHaveTakenEffect(error)) {
          mayHaveArrived = true;
          onUnanswered();
        } else if (!mayHaveArrived || !wasNotSent(error)) throw error;
        if (Date.now() > deadline) throw unavailable(error);
        await delay(RESEND_PAUSE_MS);
      }
    }
  }

  /** Which day it was charged on, if it was, is not known either. */
  #abandonAdmission({ account_id, id }: ChargeRow): void {
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
