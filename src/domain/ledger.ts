/**
 * The ledger: every metered request is charged when it is admitted, and what it delivers leaves only once the charge
 * is final. Contract section 5; the protocol is argued in docs/decisions/0010-the-ledgers-protocol.md.
 */
import { v7 as uuidv7 } from 'uuid';
import type { Meter } from '../../schemas/plans.ts';
import type { Database, Db } from '../database/client.ts';
import { ApiError } from '../errors.ts';
import type { Turn } from '../store/conversations.ts';
import {
  type ChargeRow,
  type Decision,
  findIdempotentRequest,
  type SettlementRow,
  type TurnRow,
} from '../store/ledger.ts';
import {
  idempotencyInProgress,
  idempotencyMismatch,
  ownerOf,
  type Retry,
  retriesExhausted,
  type StoredAnswer,
} from './idempotency.ts';
import { LedgerWriter } from './ledger-writer.ts';
import type { OutageLog } from './outage-log.ts';
import type { PlanCatalogue } from './plans.ts';
import { type QuotaReading, quotaExceeded } from './quota.ts';
import { accountGone } from './verify-key.ts';

export type Charge = {
  /** The request's, so that what a client was told finds its charge; a new one when left out. */
  id?: string;
  accountId: string;
  /** Null for the web. */
  keyId: string | null;
  endpoint: string;
  meter: Meter;
  units: number;
};

/** A charge of a request that may be made again without being charged again. */
type RetryableCharge = Charge & { retry: Retry | undefined };

/** An admitted charge: hold on to it until it is final or refunded. */
export type Admission = Charge & {
  retry?: Retry | undefined;
  id: string;
  day: string;
  startedAt: number;
  /** Null where the charge is resumed. */
  reading: QuotaReading | null;
  /** Set where a charge that is final already is resumed, because its answer was broken off. */
  attempt?: string;
};

/** The answer of an earlier request with the same idempotency key; nothing is charged. */
export type Replay = { answer: StoredAnswer };

/** How a request that was charged ended. */
export type Outcome = {
  model: string | null;
  inputTokens: number;
  outputTokens: number;
  /** Stored in the same transaction. */
  turn?: Turn;
  /**
   * The answer, stored in the same transaction for a request that may be made again: the whole one, or how it failed for good.
   * Left out where our side failed, and a retry resumes the charge.
   */
  answer?: StoredAnswer;
  /** Where work that stays charged ended in an error, or its client left. */
  failure?: { code: string | null; statusCode: number };
};

/** Upstreams may say anything; the columns hold four bytes, and the sum of both has to fit. */
const MOST_TOKENS = 1_000_000_000;
const tokens = (count: number | undefined) => (count === undefined ? null : Math.min(count, MOST_TOKENS));

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
  const { answer, failure, inputTokens, model, outputTokens, turn } = outcome ?? {};
  const { attempt, retry } = admission;
  const isOver = kind !== 'refund' && outcome !== undefined;
  return {
    kind,
    account_id: admission.accountId,
    day: admission.day,
    id: admission.id,
    status: failure?.statusCode ?? 200,
    code: failure?.code ?? null,
    model: model ?? null,
    input_tokens: tokens(inputTokens),
    output_tokens: tokens(outputTokens),
    latency_ms: latencyMs(admission),
    ...(turn && { turn: turnRow(turn) }),
    ...(retry && isOver && { answer: answer ?? {} }),
    ...(attempt !== undefined && { attempt }),
  };
}

/** The table's sentence says that nothing was charged; here nobody knows. */
const perhapsCharged = (cause: unknown) =>
  new ApiError('serviceUnavailable', {
    message:
      'The service lost its database connection during this request. It may remain charged; check your usage. If it had an `Idempotency-Key`, retry with the same key to be charged only once.',
    cause,
  });

export class Ledger {
  readonly #writer: LedgerWriter;
  readonly #db: Db;

  /** @param log - gets outages of the lease, the sweep and the repair */
  constructor(database: Database, plans: PlanCatalogue, log: OutageLog) {
    this.#db = database.db;
    this.#writer = new LedgerWriter(database, plans, log);
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
   * Charges before any work is done. A request that was made before is answered before the quota is looked at.
   *
   * @throws ApiError `quotaExceeded` when the day's ceiling does not hold all units; `idempotencyMismatch`,
   *   `idempotencyInProgress`; `internalError` where our side failed twice more under the same key; `apiKeyRevoked` or `sessionRequired` when the account is gone; `overloaded`,
   *   `serviceUnavailable`
   */
  async admit(charge: RetryableCharge): Promise<Admission | Replay>;
  async admit(charge: Charge): Promise<Admission>;
  async admit(charge: Charge & { retry?: Retry | undefined }): Promise<Admission | Replay> {
    const { accountId, endpoint, id = uuidv7(), keyId, meter, retry, units } = charge;
    const startedAt = performance.now();
    const row: ChargeRow = {
      ...{ id, account_id: accountId, key_id: keyId, endpoint, meter, units },
      ...(retry && { owner: ownerOf(keyId), idempotency_key: retry.key, fingerprint: retry.fingerprint }),
    };
    const { ceiling, day: today, outcome, readAt, used } = await this.#decide(row);
    const reading = { meter, used, ceiling, readAt };
    if (outcome === 'admitted') return { ...charge, id, day: today, startedAt, reading };
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
      return { ...charge, id: requestId, day, startedAt, reading: null, attempt: id };
    } catch (error) {
      // The attempt that the admission noted does not take place.
      if (outcome === 'resume') this.#writer.abandonAdmission(row);
      throw error;
    }
  }

  /**
   * The stored answer of an earlier request with the same idempotency key, found without charging or claiming anything.
   *
   * @returns undefined where there is none, or not yet
   * @throws ApiError `idempotencyMismatch` where the key was used for another request
   */
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
    if (admission.attempt !== undefined) {
      // It is final already.
      if (outcome !== undefined) await this.complete(admission, outcome);
      return;
    }
    const row = settlement('final', admission, outcome);
    let isFinal: boolean;
    try {
      isFinal = await this.#writer.settle(row);
    } catch (error) {
      // Nothing was delivered, and nothing will be. Where the write took effect after all, the charge stays final.
      const isRefunded = await this.refund(admission, { code: 'serviceUnavailable', statusCode: 503 });
      throw this.#writer.mayHaveSettled(row) && !isRefunded ? perhapsCharged(error) : error;
    }
    if (isFinal) return;
    // Refunded by the sweep; under an idempotency key another attempt's answer may have been kept instead.
    throw outcome?.answer === undefined ? new ApiError('serviceUnavailable') : perhapsCharged(undefined);
  }

  /**
   * Adds what became known after the first byte of an answer whose charge is final. Where the database is away, later.
   *
   * @throws ApiError `serviceUnavailable` where the answer was to be kept, and another attempt's was kept instead
   */
  async complete(admission: Admission, outcome: Outcome): Promise<void> {
    const kind = admission.attempt === undefined ? 'complete' : 'rerun';
    const row = settlement(kind, admission, outcome);
    const isSettled = await this.#writer.settle(row).catch((error) => {
      this.#writer.abandon(row);
      throw error;
    });
    if (!isSettled && outcome.answer !== undefined) throw new ApiError('serviceUnavailable');
  }

  /**
   * Gives a charge back, once, because the work failed before its first byte. Where the database is away, later. A charge that
   * was resumed stays, and the next request with its idempotency key resumes it again.
   *
   * @returns whether it is written already
   */
  async refund(admission: Admission, failure: { code: string | null; statusCode: number }): Promise<boolean> {
    const kind = admission.attempt === undefined ? 'refund' : 'rerun';
    const row = settlement(kind, admission, { model: null, inputTokens: 0, outputTokens: 0, failure });
    return this.#writer.settle(row).catch(() => {
      this.#writer.abandon(row);
      return false;
    });
  }
}
