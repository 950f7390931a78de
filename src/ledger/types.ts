/** The types of a charge, from its admission to its outcome. Contract section 5. */
import type { Meter } from '../../schemas/plans.ts';
import type { RequestDetails } from '../database/tables.ts';
import type { Unreported } from '../engines/upstream/usage.ts';
import type { Turn } from '../store/conversations.ts';
import type { Decision } from '../store/ledger.ts';
import type { StoredResponse } from '../store/responses.ts';
import type { Prices } from '../upstreams-file/settings.ts';
import type { Retry, StoredAnswer } from './idempotency.ts';
import type { QuotaReading } from './quota.ts';
import type { UnitsOfRequest } from './units-in-flight.ts';

export type Charge = {
  /** The request's ID, so that clients can find the charge. Default: a new ID. */
  id?: string;
  accountId: string;
  keyId: string | null;
  endpoint: string;
  meter: Meter;
  units: number;
  /** The requested model, for the log of a request that fails. */
  model?: string | null | undefined;
  /** The most tokens that the request can use. The ledger reserves them if the plan limits tokens. */
  tokens?: number | undefined;
};

export type RetryableCharge = Charge & { retry: Retry | undefined };

export type Admission = Charge & {
  retry?: Retry | undefined;
  id: string;
  day: string;
  startedAt: number;
  /** The quota at admission. Null if this request resumes an earlier charge. */
  reading: QuotaReading | null;
  /** The ID of this attempt. Set if it resumes a final charge whose response was interrupted. */
  attempt?: string;
  /** Set if a reading admitted the request. The ledger does not know it yet, and the settlement decides. */
  held?: UnitsOfRequest;
  /** The token counter, including the reservation. Set if tokens are reserved; the engine must not use more. */
  reserved?: QuotaReading & { ceiling: number };
  /** Details for the log, as far as they are known. */
  observed?: RequestDetails;
  /** What the upstream charges, if the operator set prices. */
  prices?: Prices | undefined;
};

export type Replay = { answer: StoredAnswer };

export type Outcome = {
  model: string | null;
  inputTokens: number;
  outputTokens: number;
  /** Input tokens that the upstream read from its cache, if the engine reports them. */
  cachedTokens?: number;
  /** Output tokens used for reasoning, if the engine reports them. */
  reasoningTokens?: number;
  /** Set if the engine reported no tokens, so that the counts are an estimate. */
  unreported?: Unreported;
  /** The number of generated images. */
  images?: number;
  turn?: Turn;
  response?: StoredResponse;
  /** The response to store in the same transaction. Omitted if our side failed, so that a retry resumes the charge. */
  answer?: StoredAnswer;
  /** Set if charged work failed or its client disconnected. */
  failure?: { code: string | null; statusCode: number };
};

/** Whether a refused charge fits after all. If so, another charge in its batch blocked it. */
export const fits = (
  { ceiling, tokens, used }: { used: number; ceiling: number | null; tokens?: Decision['tokens'] },
  charge: Pick<Charge, 'units' | 'tokens'>,
): boolean =>
  (ceiling === null || used + charge.units <= ceiling) &&
  (!tokens || tokens.used + (charge.tokens ?? 0) <= tokens.ceiling);
