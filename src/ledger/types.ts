/** The types of a charge, from its admission to its outcome. Contract section 5. */
import type { Meter } from '../../schemas/plans.ts';
import type { RequestDetails } from '../database/tables.ts';
import type { Unreported } from '../engines/upstream/usage.ts';
import type { Turn } from '../store/conversations.ts';
import type { Decision } from '../store/ledger.ts';
import type { StoredResponse } from '../store/responses.ts';
import type { Prices } from '../upstreams/settings.ts';
import type { Retry, StoredAnswer } from './idempotency.ts';
import type { QuotaReading } from './quota.ts';
import type { UnitsOfRequest } from './units-in-flight.ts';

export type Charge = {
  /** The request's, so that clients can find the charge. Default: a new one. */
  id?: string;
  accountId: string;
  keyId: string | null;
  endpoint: string;
  meter: Meter;
  units: number;
  /** The one that was asked for, for the log of a request that fails. */
  model?: string | null | undefined;
  /** The most tokens that the request can use. They are reserved if the plan has a ceiling of tokens. */
  tokens?: number | undefined;
};

export type RetryableCharge = Charge & { retry: Retry | undefined };

export type Admission = Charge & {
  retry?: Retry | undefined;
  id: string;
  day: string;
  startedAt: number;
  /** Null if the charge is resumed. */
  reading: QuotaReading | null;
  /** Set if a final charge is resumed because its answer was interrupted. */
  attempt?: string;
  /** Set if the ledger does not know the request: it was admitted from a reading, and the settlement decides. */
  held?: UnitsOfRequest;
  /** Set if the charge's tokens are reserved: the counter, with them. The engine must not use more. */
  reserved?: QuotaReading & { ceiling: number };
  /** What is known of the work so far, for the log. */
  observed?: RequestDetails;
  /** Of the upstream that answers, if the operator set them. */
  prices?: Prices | undefined;
};

export type Replay = { answer: StoredAnswer };

export type Outcome = {
  model: string | null;
  inputTokens: number;
  outputTokens: number;
  /** Of the input tokens, if the engine tells. */
  cachedTokens?: number;
  /** Of the output tokens, if the engine tells. */
  reasoningTokens?: number;
  /** Set if the engine reported no tokens, so that these are an estimate. */
  unreported?: Unreported;
  /** Generated. */
  images?: number;
  turn?: Turn;
  response?: StoredResponse;
  /** Stored in the same transaction. Omitted if our side failed, so that a retry resumes the charge. */
  answer?: StoredAnswer;
  /** Set if charged work failed, or its client disconnected. */
  failure?: { code: string | null; statusCode: number };
};

/** Whether a charge that was refused fits: another one of its batch held it back. */
export const fits = (
  { ceiling, tokens, used }: { used: number; ceiling: number | null; tokens?: Decision['tokens'] },
  charge: Pick<Charge, 'units' | 'tokens'>,
): boolean =>
  (ceiling === null || used + charge.units <= ceiling) &&
  (!tokens || tokens.used + (charge.tokens ?? 0) <= tokens.ceiling);
