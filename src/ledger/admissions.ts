/**
 * Admits requests. Near the ceiling, the ledger decides; far from it, a reading of today's usage is enough. Contract
 * section 5, argued in docs/decisions/0024-admission-from-a-reading.md.
 */
import type { Db } from '../database/client.ts';
import { newId } from '../domain/ids.ts';
import { ceilingOf, limitsTokens, type PlanCatalog, tokensCeilingOf } from '../domain/plans.ts';
import { ApiError, accountGone } from '../errors.ts';
import { type ChargeRow, type Decision, findIdempotentRequest } from '../store/ledger.ts';
import type { UsageReading } from '../store/usage.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import {
  idempotencyInProgress,
  idempotencyMismatch,
  ownerOf,
  type Retry,
  retriesExhausted,
} from './idempotency.ts';
import { quotaExceeded, tokensExceeded } from './quota.ts';
import { type Admission, type Charge, fits, type Replay, type RetryableCharge } from './types.ts';
import type { UnitsInFlight, UnitsOfRequest } from './units-in-flight.ts';
import type { LedgerWriter } from './writer.ts';

export type AdmissionsOptions = {
  db: Db;
  plans: PlanCatalog;
  metrics: Metrics;
  writer: LedgerWriter;
  inFlight: UnitsInFlight;
  /** Returns undefined if the account no longer exists. */
  readUsage(accountId: string): Promise<UsageReading | undefined>;
};

type BegunCharge = Charge & { id: string; startedAt: number };

export class Admissions {
  readonly #db: Db;
  readonly #plans: PlanCatalog;
  readonly #limitsTokens: boolean;
  readonly #metrics: Metrics;
  readonly #writer: LedgerWriter;
  readonly #inFlight: UnitsInFlight;
  readonly #readUsage: AdmissionsOptions['readUsage'];

  constructor({ db, inFlight, metrics, plans, readUsage, writer }: AdmissionsOptions) {
    this.#db = db;
    this.#plans = plans;
    this.#limitsTokens = limitsTokens(plans);
    this.#metrics = metrics;
    this.#writer = writer;
    this.#inFlight = inFlight;
    this.#readUsage = readUsage;
  }

  /**
   * Admits a request before any work is done. A retry gets its stored response without a check of the quota. The caller
   * must finalize or refund each admission.
   *
   * @throws ApiError `quotaExceeded` if the quota does not hold all units; `idempotencyMismatch`,
   *   `idempotencyInProgress`; `internalError` if our side failed twice more under the same key; `apiKeyRevoked` or
   *   `sessionRequired` if the account no longer exists; `overloaded`, `serviceUnavailable`
   */
  async admit(charge: RetryableCharge): Promise<Admission | Replay>;
  async admit(charge: Charge): Promise<Admission>;
  async admit(charge: Charge & { retry?: Retry | undefined }): Promise<Admission | Replay> {
    const identified = { ...charge, id: charge.id ?? newId(), startedAt: performance.now() };
    const units = this.#inFlight.begin(charge, charge.units);
    try {
      // The transaction that admits a request also claims its idempotency key.
      const admission =
        charge.retry === undefined ? await this.#admitFromReading(identified, units) : undefined;
      if (admission !== undefined) return admission;
    } catch (error) {
      units.end();
      throw error;
    }
    return await this.#admitInLedger(identified, units);
  }

  #outOfTokens(
    { meter, tokens: needed = 0 }: Charge,
    { ceiling, used }: { used: number; ceiling: number },
    readAt: Date,
  ): ApiError {
    this.#metrics.charges.inc({ meter, step: 'refused' });
    return tokensExceeded({ meter: 'tokens', used, ceiling, readAt }, needed);
  }

  /** @returns undefined if the ledger must decide: near the ceiling, with tokens to reserve, or if the reading fails */
  async #admitFromReading(charge: BegunCharge, units: UnitsOfRequest): Promise<Admission | undefined> {
    const { accountId, keyId, meter, tokens } = charge;
    let usage: UsageReading | undefined;
    try {
      usage = await this.#readUsage(accountId);
    } catch (error) {
      if (error instanceof ApiError) throw error;
      return undefined;
    }
    if (usage === undefined) throw accountGone(keyId);
    const { readAt } = usage;
    const plan = this.#plans.of(usage);
    const ceiling = ceilingOf(plan, meter);
    const used = usage.used[meter];
    if (ceiling !== null && used + charge.units > ceiling) {
      this.#metrics.charges.inc({ meter, step: 'refused' });
      throw quotaExceeded({ meter, used, ceiling, readAt }, charge.units);
    }
    const tokensCeiling = tokensCeilingOf(plan);
    if (tokens !== undefined && tokensCeiling !== null) {
      // This ignores reserved tokens, because other requests may release them at any moment.
      if (usage.used.tokens + tokens > tokensCeiling)
        throw this.#outOfTokens(charge, { used: usage.used.tokens, ceiling: tokensCeiling }, readAt);
      return undefined;
    }
    const day = readAt.toISOString().slice(0, 10);
    const usedAndHeld = units.hold({ day, used, ceiling });
    if (usedAndHeld === undefined) return undefined;
    this.#metrics.charges.inc({ meter, step: 'admitted' });
    return { ...charge, day, reading: { meter, used: usedAndHeld, ceiling, readAt }, held: units };
  }

  async #admitInLedger(
    charge: BegunCharge & { retry?: Retry | undefined },
    unitsOfRequest: UnitsOfRequest,
  ): Promise<Admission | Replay> {
    const { accountId, endpoint, id, keyId, meter, model, retry, tokens, units } = charge;
    const row: ChargeRow = {
      ...{ id, account_id: accountId, key_id: keyId, endpoint, meter, units },
      ...(model && { model }),
      ...(tokens !== undefined && this.#limitsTokens && { tokens }),
      ...(retry && { owner: ownerOf(keyId), idempotency_key: retry.key, fingerprint: retry.fingerprint }),
    };
    const decision = await this.#decide(row, unitsOfRequest);
    const { ceiling, day: today, outcome, readAt, used } = decision;
    const reading = { meter, used, ceiling, readAt };
    const isOutOfTokens = outcome === 'refused' && (ceiling === null || used + units <= ceiling);
    if (decision.tokens !== null && (outcome === 'unreserved' || isOutOfTokens))
      throw this.#outOfTokens(charge, decision.tokens, readAt);
    this.#metrics.charges.inc({ meter, step: outcome });
    const reserved = decision.tokens && {
      reserved: { meter: 'tokens' as const, ...decision.tokens, readAt },
    };
    if (outcome === 'admitted') return { ...charge, ...reserved, day: today, reading };
    if (retry === undefined || outcome === 'refused')
      throw quotaExceeded({ ...reading, ceiling: ceiling ?? 0 }, units);
    if (outcome === 'mismatch') throw idempotencyMismatch();
    if (outcome === 'running') throw idempotencyInProgress();
    if (outcome === 'exhausted') throw retriesExhausted();
    try {
      const earlier = await this.#earlier(charge, retry);
      if (outcome === 'replay' && earlier?.answer) return { answer: earlier.answer };
      if (outcome === 'replay' || earlier === undefined) throw idempotencyInProgress();
      const { day, requestId } = earlier;
      return { ...charge, ...reserved, id: requestId, day, reading: null, attempt: id };
    } catch (error) {
      // The attempt that this admission recorded will not run.
      if (outcome === 'resume') this.#writer.abandonAdmission(row);
      throw error;
    }
  }

  /** Looks up the response to replay, if it is stored yet. Charges nothing. Throws `idempotencyMismatch`. */
  async findReplay(charge: Pick<Charge, 'accountId' | 'keyId'>, retry: Retry): Promise<Replay | undefined> {
    const earlier = await this.#earlier(charge, retry);
    if (earlier === undefined) return undefined;
    const { fingerprint } = earlier;
    if (fingerprint !== retry.fingerprint && fingerprint !== retry.earlierFingerprint?.())
      throw idempotencyMismatch();
    return earlier.answer === null ? undefined : { answer: earlier.answer };
  }

  #earlier = ({ accountId, keyId }: Pick<Charge, 'accountId' | 'keyId'>, { key }: Retry) =>
    findIdempotentRequest(this.#db, { accountId, owner: ownerOf(keyId), key });

  async #decide(row: ChargeRow, units: UnitsOfRequest): Promise<Decision> {
    let inLedger: Decision | undefined;
    units.decide();
    try {
      for (;;) {
        inLedger = await this.#writer.admit(row);
        if (inLedger === undefined) throw accountGone(row.key_id);
        const decided = { ...inLedger, used: inLedger.used + units.heldOn(inLedger.day) };
        // The refusal is outdated: a larger charge in its batch blocked it, or held units have reached the ledger.
        if (decided.outcome !== 'refused' || !fits(decided, row)) return decided;
      }
    } finally {
      units.end(inLedger);
    }
  }
}
