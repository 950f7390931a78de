/**
 * Admits requests: by the ledger, or, far from the ceiling, from a reading of it. Contract section 5, argued in
 * docs/decisions/0024-admission-from-a-reading.md.
 */
import type { Db } from '../database/client.ts';
import { newId } from '../domain/ids.ts';
import { ceilingOf, limitsTokens, type PlanCatalogue, tokensCeilingOf } from '../domain/plans.ts';
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
  plans: PlanCatalogue;
  metrics: Metrics;
  writer: LedgerWriter;
  inFlight: UnitsInFlight;
  /** Undefined if the account is gone. */
  readUsage(accountId: string): Promise<UsageReading | undefined>;
};

type BegunCharge = Charge & { id: string; startedAt: number };

export class Admissions {
  readonly #db: Db;
  readonly #plans: PlanCatalogue;
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
   * Admits a request before any work is done. A retry is answered before the quota is checked. Finalise or refund what
   * is admitted.
   *
   * @throws ApiError `quotaExceeded` if the quota does not hold all units; `idempotencyMismatch`,
   *   `idempotencyInProgress`; `internalError` if our side failed twice more under the same key; `apiKeyRevoked` or
   *   `sessionRequired` if the account is gone; `overloaded`, `serviceUnavailable`
   */
  async admit(charge: RetryableCharge): Promise<Admission | Replay>;
  async admit(charge: Charge): Promise<Admission>;
  async admit(charge: Charge & { retry?: Retry | undefined }): Promise<Admission | Replay> {
    const identified = { ...charge, id: charge.id ?? newId(), startedAt: performance.now() };
    const units = this.#inFlight.begin(charge, charge.units);
    try {
      // An idempotency key is claimed in the transaction that admits.
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

  /** @returns undefined if the ledger has to decide: near the ceiling, with tokens to reserve, or if it cannot be read */
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
      throw quotaExceeded({ meter, used, ceiling, readAt });
    }
    const tokensCeiling = tokensCeilingOf(plan);
    if (tokens !== undefined && tokensCeiling !== null) {
      // Without what is reserved, which may be released any moment.
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
      throw quotaExceeded({ ...reading, ceiling: ceiling ?? 0 });
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
      // The attempt that the admission recorded will not run.
      if (outcome === 'resume') this.#writer.abandonAdmission(row);
      throw error;
    }
  }

  /** Charges nothing. Returns undefined if no answer is stored yet. Throws `idempotencyMismatch`. */
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
        // Otherwise a larger charge of its batch held it back, or units that were held and are in the ledger by now.
        if (decided.outcome !== 'refused' || !fits(decided, row)) return decided;
      }
    } finally {
      units.end(inLedger);
    }
  }
}
