/**
 * The ledger: every metered request is charged when it is admitted, and what it delivers leaves only once the charge
 * is final. Contract section 5; the protocol is argued in docs/decisions/0010-the-ledgers-protocol.md.
 */
import { v7 as uuidv7 } from 'uuid';
import type { Meter } from '../../schemas/plans.ts';
import { ApiError } from '../errors.ts';
import type { Database } from '../store/client.ts';
import type { Turn } from '../store/conversations.ts';
import type { ChargeRow, Decision, SettlementRow, TurnRow } from '../store/ledger.ts';
import { LedgerWriter } from './ledger-writer.ts';
import type { PlanCatalogue } from './plans.ts';
import { type QuotaReading, quotaExceeded } from './quota.ts';
import { accountGone } from './verify-key.ts';

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

/** Models can say what Postgres cannot hold. */
const storable = (text: string) => text.toWellFormed().replaceAll('\u0000', '\ufffd');

const turnRow = ({ answer, conversationId, isNew, keyId, question, title }: Turn): TurnRow => ({
  conversation_id: conversationId,
  key_id: keyId,
  is_new: isNew,
  title: storable(title),
  question_id: question.id,
  question: storable(question.content),
  answer_id: answer.id,
  answer: storable(answer.content),
  model: answer.model,
});

function settlement(kind: SettlementRow['kind'], admission: Admission, outcome?: Outcome): SettlementRow {
  const { failure, inputTokens, model, outputTokens, turn } = outcome ?? {};
  return {
    kind,
    account_id: admission.accountId,
    day: admission.day,
    id: admission.id,
    status: failure?.statusCode ?? 200,
    code: failure?.code ?? null,
    model: model ?? null,
    input_tokens: inputTokens ?? null,
    output_tokens: outputTokens ?? null,
    latency_ms: latencyMs(admission),
    ...(turn && { turn: turnRow(turn) }),
  };
}

export class Ledger {
  readonly #writer: LedgerWriter;

  constructor(database: Database, plans: PlanCatalogue) {
    this.#writer = new LedgerWriter(database, plans);
  }

  /** Names this process in the rows it admits. */
  get process(): string {
    return this.#writer.process;
  }

  /** Takes the lease and keeps it, and sweeps up after processes that lost theirs. */
  start = (): Promise<void> => this.#writer.start();

  /** Writes what is open and gives the lease back. */
  stop = (): Promise<void> => this.#writer.stop();

  /**
   * Charges before any work is done.
   *
   * @throws ApiError `quotaExceeded` when the day's ceiling does not hold all units; `apiKeyRevoked` or
   *   `sessionRequired` when the account is gone; `overloaded`, `serviceUnavailable`
   */
  async admit(charge: Charge): Promise<Admission> {
    const { accountId, endpoint, keyId, meter, units } = charge;
    const startedAt = performance.now();
    const row: ChargeRow = { id: uuidv7(), account_id: accountId, key_id: keyId, endpoint, meter, units };
    const { ceiling, day, outcome, readAt, used } = await this.#decide(row);
    const reading = { meter, used, ceiling, readAt };
    if (outcome !== 'admitted') throw quotaExceeded({ ...reading, ceiling: ceiling ?? 0 });
    return { ...charge, id: row.id, day, startedAt, reading };
  }

  async #decide(row: ChargeRow): Promise<Decision> {
    for (;;) {
      const decision = await this.#writer.admit(row);
      if (decision === undefined) throw accountGone(row.key_id);
      const { ceiling, outcome, used } = decision;
      // It was held back by a larger charge before it in the batch, and fits by itself.
      const fits = outcome === 'refused' && ceiling !== null && used + row.units <= ceiling;
      if (!fits) return decision;
    }
  }

  /**
   * Makes a charge final. Nothing of the answer may leave before this returns.
   *
   * @param outcome - how it ended; left out where the answer only begins, and `complete` follows
   * @throws ApiError `serviceUnavailable` when the charge was refunded meanwhile
   */
  async finalise(admission: Admission, outcome?: Outcome): Promise<void> {
    let isFinal: boolean;
    try {
      isFinal = await this.#writer.settle(settlement('final', admission, outcome));
    } catch (error) {
      // Nothing was delivered, and nothing will be. Where the write took effect after all, the charge stays final.
      await this.refund(admission, { code: 'serviceUnavailable', statusCode: 503 });
      throw error;
    }
    if (!isFinal) throw new ApiError('serviceUnavailable', { headers: { 'retry-after': '1' } });
  }

  /** Adds what became known after the first byte of an answer whose charge is final. */
  async complete(admission: Admission, outcome: Outcome): Promise<void> {
    await this.#writer.settle(settlement('complete', admission, outcome));
  }

  /** Gives a charge back, once, because the work failed before its first byte. Where the database is away, later. */
  async refund(admission: Admission, failure: { code: string; statusCode: number }): Promise<void> {
    const row = settlement('refund', admission, { model: null, inputTokens: 0, outputTokens: 0, failure });
    await this.#writer.settle(row).catch(() => this.#writer.abandon(row));
  }
}
