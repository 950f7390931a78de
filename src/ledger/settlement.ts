/** Builds the rows that settle charges. */
import type { RequestDetails } from '../database/tables.ts';
import type { Turn } from '../store/conversations.ts';
import type { ResponseRow, SettlementRow, TurnRow } from '../store/ledger.ts';
import type { StoredResponse } from '../store/responses.ts';
import type { Prices } from '../upstreams-file/settings.ts';
import type { Admission, Outcome } from './types.ts';

/** Upstreams may report any number. The columns hold four bytes, and the sum of two counts must fit too. */
const MAX_TOKEN_COUNT = 1_000_000_000;

export const storedTokens = (count: number | undefined): number | null =>
  count === undefined ? null : Math.min(count, MAX_TOKEN_COUNT);

const latencyMs = (admission: Admission) => Math.round(performance.now() - admission.startedAt);

/** Replaces characters that Postgres cannot store. Models can produce them. */
const storable = (text: string) => text.toWellFormed().replaceAll('\u0000', '\ufffd');

const turnRow = ({ answer, conversationId, isNew, keyId, question, replacedId, title }: Turn): TurnRow => ({
  conversation_id: conversationId,
  key_id: keyId,
  is_new: isNew,
  ...(replacedId !== undefined && { replaced_id: replacedId }),
  title: storable(title),
  question_id: question.id,
  question: storable(question.content),
  ...(question.images && {
    images: question.images.kinds,
    image_urls: JSON.stringify(question.images.urls),
  }),
  answer_id: answer.id,
  answer: storable(answer.content),
  model: answer.model,
  is_stopped: answer.isStopped,
  ...(answer.finishReason !== null && { finish_reason: answer.finishReason }),
});

/** Needs no `storable`, because JSON escapes the characters that Postgres cannot store. */
const responseRow = ({ body, input, keyId, previousId }: StoredResponse): ResponseRow => ({
  key_id: keyId,
  previous_id: previousId,
  input: JSON.stringify(input),
  body: JSON.stringify(body),
});

/** The cost in millionths of the currency. In this unit, a price per million tokens is the price of one token. */
function costOf({ cachedInput, image, input, output }: Prices, outcome: Outcome): number {
  const { images = 0, inputTokens, outputTokens } = outcome;
  const cached = Math.min(outcome.cachedTokens ?? 0, inputTokens);
  const tokens = (inputTokens - cached) * input + cached * cachedInput + outputTokens * output;
  const cost = tokens + images * image * 1_000_000;
  return Math.min(Math.round(cost), Number.MAX_SAFE_INTEGER);
}

const chargeRow = ({ endpoint, keyId, meter, readAt, units }: Admission & { readAt: Date }) => ({
  key_id: keyId,
  endpoint,
  meter,
  units,
  admitted_at: readAt.toISOString(),
});

/** Undefined if there are no details, so that the ledger stores none. */
function detailsOf(
  { observed, prices }: Admission,
  outcome: Outcome | undefined,
): RequestDetails | undefined {
  const { cachedTokens, reasoningTokens } = outcome ?? {};
  if (observed === undefined && cachedTokens === undefined && reasoningTokens === undefined) return undefined;
  const cost = prices && outcome && costOf(prices, outcome);
  return {
    ...observed,
    ...(cost && { cost_micros: cost }),
    ...(cachedTokens !== undefined && { cached_tokens: Math.min(cachedTokens, MAX_TOKEN_COUNT) }),
    ...(reasoningTokens !== undefined && { reasoning_tokens: Math.min(reasoningTokens, MAX_TOKEN_COUNT) }),
  };
}

const isFailure = (kind: SettlementRow['kind']) => kind === 'refund' || kind === 'uncharged';

export function settlementOf(
  kind: SettlementRow['kind'],
  admission: Admission,
  outcome?: Outcome,
): SettlementRow {
  const { answer, failure, inputTokens, model, outputTokens, response, turn } = outcome ?? {};
  const { attempt, reading, retry } = admission;
  const isOver = !isFailure(kind) && outcome !== undefined;
  const details = detailsOf(admission, outcome);
  const isNew = kind === 'charge' || kind === 'uncharged';
  return {
    kind,
    account_id: admission.accountId,
    day: admission.day,
    id: admission.id,
    status: failure?.statusCode ?? 200,
    code: failure?.code ?? null,
    model: model ?? admission.model ?? null,
    input_tokens: storedTokens(inputTokens),
    output_tokens: storedTokens(outputTokens),
    latency_ms: latencyMs(admission),
    ...(details && { details }),
    ...(isNew && reading && { charge: chargeRow({ ...admission, readAt: reading.readAt }) }),
    ...(turn && { turn: turnRow(turn) }),
    ...(response && { response: responseRow(response) }),
    ...(retry && isOver && { answer: answer ?? {} }),
    ...(attempt !== undefined && { attempt }),
  };
}
