/**
 * The ledger: every metered request is charged when it is admitted, and what it delivers leaves only once the
 * charge is final. Contract section 5.
 */
import { v7 as uuidv7 } from 'uuid';
import type { Meter } from '../../schemas/plans.ts';
import { ApiError } from '../errors.ts';
import type { Db } from '../store/client.ts';
import { storeTurn, type Turn } from '../store/conversations.ts';
import {
  admitCharges,
  type Ceilings,
  completeCharges,
  finaliseCharges,
  refundCharges,
} from '../store/ledger.ts';
import type { PlanCatalogue } from './plans.ts';
import { type QuotaReading, quotaExceeded } from './quota.ts';

export type Charge = {
  accountId: string;
  /** Null for the web. */
  keyId: string | null;
  endpoint: string;
  meter: Meter;
  units: number;
};

/** An admitted charge: hold on to it until it is final or refunded. */
export type Admission = Charge & { id: string; day: string; reading: QuotaReading; startedAt: number };

/** How a request that was charged ended. */
export type Outcome = {
  model: string | null;
  inputTokens: number;
  outputTokens: number;
  /** Stored in the same transaction. */
  turn?: Turn;
  /** Where a stream that had begun ended in an error, or its client left. */
  failure?: { code: string | null; statusCode: number };
};

const latencyMs = (admission: Admission) => Math.round(performance.now() - admission.startedAt);

const keyOf = (admission: Admission) => ({
  account_id: admission.accountId,
  day: admission.day,
  id: admission.id,
});

export class Ledger {
  /** Names this process in the rows it admits. */
  readonly process: string = uuidv7();
  readonly #db: Db;
  readonly #plans: PlanCatalogue;
  readonly #ceilings: Ceilings;

  constructor(db: Db, plans: PlanCatalogue) {
    this.#db = db;
    this.#plans = plans;
    this.#ceilings = Object.fromEntries(plans.plans.map((plan) => [plan.id, plan.limits]));
  }

  /**
   * Charges before any work is done.
   *
   * @throws ApiError `quotaExceeded` when the day's ceiling does not hold all units; `invalidApiKey` or
   *   `sessionRequired` when the account is gone
   */
  async admit(charge: Charge): Promise<Admission> {
    const startedAt = performance.now();
    const id = uuidv7();
    const row = {
      id,
      account_id: charge.accountId,
      key_id: charge.keyId,
      endpoint: charge.endpoint,
      meter: charge.meter,
      units: charge.units,
    };
    const [decision] = await admitCharges(
      this.#db,
      [row],
      this.#ceilings,
      this.#plans.standard.id,
      this.process,
    );
    if (decision === undefined)
      throw new ApiError(charge.keyId === null ? 'sessionRequired' : 'apiKeyRevoked');
    const { admitted, ceiling, day, readAt, used } = decision;
    if (!admitted && ceiling !== null) throw quotaExceeded({ meter: charge.meter, used, ceiling, readAt });
    return { ...charge, id, day, startedAt, reading: { meter: charge.meter, used, ceiling, readAt } };
  }

  /**
   * Makes a charge final. Nothing of the answer may leave before this returns.
   *
   * @param outcome - how it ended; left out where the answer only begins, and `complete` follows
   * @throws ApiError `serviceUnavailable` when the charge was refunded meanwhile
   */
  async finalise(admission: Admission, outcome?: Outcome): Promise<void> {
    const row = {
      ...keyOf(admission),
      status: outcome?.failure?.statusCode ?? 200,
      model: outcome?.model ?? null,
      input_tokens: outcome?.inputTokens ?? null,
      output_tokens: outcome?.outputTokens ?? null,
      latency_ms: latencyMs(admission),
    };
    await this.#db.transaction(async (tx) => {
      const moved = await finaliseCharges(tx, [row]);
      if (!moved.has(admission.id)) {
        throw new ApiError('serviceUnavailable', { headers: { 'retry-after': '1' } });
      }
      if (outcome?.turn) await storeTurn(tx, outcome.turn);
    });
  }

  /** Adds what became known after the first byte of an answer whose charge is final. */
  async complete(admission: Admission, outcome: Outcome): Promise<void> {
    const { failure, inputTokens, model, outputTokens, turn } = outcome;
    const row = {
      ...keyOf(admission),
      status: failure?.statusCode ?? 200,
      code: failure?.code ?? null,
      model,
      input_tokens: inputTokens,
      output_tokens: outputTokens,
      latency_ms: latencyMs(admission),
    };
    await this.#db.transaction(async (tx) => {
      await completeCharges(tx, [row]);
      if (turn) await storeTurn(tx, turn);
    });
  }

  /** Gives a charge back, once, because the work failed before its first byte. */
  async refund(admission: Admission, error: { code: string; statusCode: number }): Promise<void> {
    await refundCharges(this.#db, [
      { ...keyOf(admission), status: error.statusCode, code: error.code, latency_ms: latencyMs(admission) },
    ]);
  }
}
