/**
 * Requests are charged on admission. Answers leave once the charge is final. Contract section 5, argued in
 * docs/decisions/0010-the-ledgers-protocol.md.
 */
import type { Meter } from '../../schemas/plans.ts';
import type { Database, Db } from '../database/client.ts';
import { ApiError } from '../errors.ts';
import { Metrics } from '../metrics.ts';
import type { Turn } from '../store/conversations.ts';
import {
  type ChargeRow,
  type Decision,
  findIdempotentRequest,
  type ResponseRow,
  type SettlementRow,
  type TurnRow,
} from '../store/ledger.ts';
import type { StoredResponse } from '../store/responses.ts';
import { readUsage, type UsageReading } from '../store/usage.ts';
import { GroupCommit } from './group-commit.ts';
import {
  idempotencyInProgress,
  idempotencyMismatch,
  ownerOf,
  type Retry,
  retriesExhausted,
  type StoredAnswer,
} from './idempotency.ts';
import { newId } from './ids.ts';
import { LedgerWriter } from './ledger-writer.ts';
import type { OutageLog } from './outage-log.ts';
import type { PlanCatalogue } from './plans.ts';
import { type QuotaReading, quotaExceeded } from './quota.ts';
import { accountGone } from './verify-key.ts';

export type Charge = {
  /** The request's, so that clients can find the charge. Default: a new one. */
  id?: string;
  accountId: string;
  keyId: string | null;
  endpoint: string;
  meter: Meter;
  units: number;
};

type RetryableCharge = Charge & { retry: Retry | undefined };

export type Admission = Charge & {
  retry?: Retry | undefined;
  id: string;
  day: string;
  startedAt: number;
  /** Null if the charge is resumed. */
  reading: QuotaReading | null;
  /** Set if a final charge is resumed because its answer was interrupted. */
  attempt?: string;
};

export type Replay = { answer: StoredAnswer };

export type Outcome = {
  model: string | null;
  inputTokens: number;
  outputTokens: number;
  turn?: Turn;
  response?: StoredResponse;
  /** Stored in the same transaction. Omitted if our side failed, so that a retry resumes the charge. */
  answer?: StoredAnswer;
  /** Set if charged work failed, or its client disconnected. */
  failure?: { code: string | null; statusCode: number };
};

/** Upstreams may report any number. The columns hold four bytes, and so must the sum of both. */
const MOST_TOKENS = 1_000_000_000;
const tokens = (count: number | undefined) => (count === undefined ? null : Math.min(count, MOST_TOKENS));

const READ_AT_ONCE = 200;
const WAITING_READERS = 10_000;

const latencyMs = (admission: Admission) => Math.round(performance.now() - admission.startedAt);

/** Models can produce text that Postgres cannot store. */
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

/** JSON escapes what Postgres cannot store. */
const responseRow = ({ body, input, keyId, previousId }: StoredResponse): ResponseRow => ({
  key_id: keyId,
  previous_id: previousId,
  input: JSON.stringify(input),
  body: JSON.stringify(body),
});

function settlement(kind: SettlementRow['kind'], admission: Admission, outcome?: Outcome): SettlementRow {
  const { answer, failure, inputTokens, model, outputTokens, response, turn } = outcome ?? {};
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
    ...(response && { response: responseRow(response) }),
    ...(retry && isOver && { answer: answer ?? {} }),
    ...(attempt !== undefined && { attempt }),
  };
}

/** The table's message says that nothing was charged, which is unknown here. */
const perhapsCharged = (cause: unknown) =>
  new ApiError('serviceUnavailable', {
    message:
      'The service lost its database connection during this request. The request may remain charged; check your usage. If it had an `Idempotency-Key`, retry with the same key to be charged only once.',
    cause,
  });

export class Ledger {
  readonly #writer: LedgerWriter;
  readonly #db: Db;
  readonly #readings: GroupCommit<string, UsageReading | undefined>;
  readonly #metrics: Metrics;

  constructor(database: Database, plans: PlanCatalogue, log: OutageLog, metrics = new Metrics()) {
    this.#db = database.db;
    this.#metrics = metrics;
    this.#readings = new GroupCommit({
      ...{ batchSize: READ_AT_ONCE, queueSize: WAITING_READERS },
      write: async (accountIds) => {
        const found = await readUsage(database, accountIds);
        return accountIds.map((id) => found.get(id));
      },
    });
    this.#writer = new LedgerWriter(database, plans, log, metrics);
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
   * Charges a request before any work is done. A retry is answered before the quota is checked.
   *
   * @throws ApiError `quotaExceeded` if the quota does not hold all units; `idempotencyMismatch`,
   *   `idempotencyInProgress`; `internalError` if our side failed twice more under the same key; `apiKeyRevoked` or
   *   `sessionRequired` if the account is gone; `overloaded`, `serviceUnavailable`
   */
  async admit(charge: RetryableCharge): Promise<Admission | Replay>;
  async admit(charge: Charge): Promise<Admission>;
  async admit(charge: Charge & { retry?: Retry | undefined }): Promise<Admission | Replay> {
    const { accountId, endpoint, id = newId(), keyId, meter, retry, units } = charge;
    const startedAt = performance.now();
    const row: ChargeRow = {
      ...{ id, account_id: accountId, key_id: keyId, endpoint, meter, units },
      ...(retry && { owner: ownerOf(keyId), idempotency_key: retry.key, fingerprint: retry.fingerprint }),
    };
    const { ceiling, day: today, outcome, readAt, used } = await this.#decide(row);
    const reading = { meter, used, ceiling, readAt };
    this.#metrics.charges.inc({ meter, step: outcome });
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

  async #decide(row: ChargeRow): Promise<Decision> {
    for (;;) {
      const decision = await this.#writer.admit(row);
      if (decision === undefined) throw accountGone(row.key_id);
      const { ceiling, outcome, used } = decision;
      // A larger charge earlier in the batch held it back; alone it fits.
      const fits = outcome === 'refused' && ceiling !== null && used + row.units <= ceiling;
      if (!fits) return decision;
    }
  }

  /**
   * No part of the answer may leave before this returns. Omit `outcome` if the answer is only starting.
   *
   * @throws ApiError `serviceUnavailable` if the charge was refunded meanwhile
   */
  async finalise(admission: Admission, outcome?: Outcome): Promise<void> {
    if (admission.attempt !== undefined) {
      if (outcome !== undefined) await this.complete(admission, outcome);
      return;
    }
    const row = settlement('final', admission, outcome);
    let isFinal: boolean;
    try {
      isFinal = await this.#writer.settle(row);
    } catch (error) {
      // Nothing was or will be delivered. If the write did take effect, the charge stays final.
      const isRefunded = await this.refund(admission, { code: 'serviceUnavailable', statusCode: 503 });
      throw this.#writer.mayHaveSettled(row) && !isRefunded ? perhapsCharged(error) : error;
    }
    if (isFinal) return this.#noteEnd(admission, 'final', outcome);
    // The sweep refunded it, or another attempt's answer is stored under the idempotency key.
    throw outcome?.answer === undefined ? new ApiError('serviceUnavailable') : perhapsCharged(undefined);
  }

  /**
   * Adds what became known after the first byte; during an outage, later.
   *
   * @throws ApiError `serviceUnavailable` if another attempt's answer is stored instead
   */
  async complete(admission: Admission, outcome: Outcome): Promise<void> {
    const kind = admission.attempt === undefined ? 'complete' : 'rerun';
    const row = settlement(kind, admission, outcome);
    const isSettled = await this.#writer.settle(row).catch((error) => {
      this.#writer.abandon(row);
      throw error;
    });
    this.#noteTokens(outcome);
    if (!isSettled && outcome.answer !== undefined) throw new ApiError('serviceUnavailable');
  }

  /**
   * For work that failed before its first byte; during an outage, later. A resumed charge stays, and the next request
   * with its idempotency key resumes it. Returns whether it is written already.
   */
  async refund(admission: Admission, failure: { code: string | null; statusCode: number }): Promise<boolean> {
    const kind = admission.attempt === undefined ? 'refund' : 'rerun';
    const row = settlement(kind, admission, { model: null, inputTokens: 0, outputTokens: 0, failure });
    try {
      const isWritten = await this.#writer.settle(row);
      if (isWritten && kind === 'refund') this.#noteEnd(admission, 'refunded');
      return isWritten;
    } catch {
      this.#writer.abandon(row);
      return false;
    }
  }

  #noteEnd({ meter }: Admission, step: 'final' | 'refunded', outcome?: Outcome): void {
    this.#metrics.charges.inc({ meter, step });
    if (outcome !== undefined) this.#noteTokens(outcome);
  }

  #noteTokens({ inputTokens, outputTokens }: Outcome): void {
    this.#metrics.tokens.inc({ direction: 'input' }, tokens(inputTokens) ?? 0);
    this.#metrics.tokens.inc({ direction: 'output' }, tokens(outputTokens) ?? 0);
  }
}
