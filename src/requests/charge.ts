/** The lifecycle of a charge, from taking a slot to settling. Contract sections 5, 7, and 10; decision 0010. */
import type { FastifyReply, FastifyRequest } from 'fastify';
import { withoutApiKeys } from '../domain/api-key.ts';
import { progressOf } from '../engines/progress.ts';
import type { ApiError, Envelope } from '../errors.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { Admission, Outcome } from '../ledger/types.ts';
import type { Calls, Slot } from '../limits/calls.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import { interruptedError, isOurFailure, keptChargeError, resumeFailedError } from './charged-errors.ts';
import { type Cost, reservedTokens } from './cost.ts';
import { envelopeFor } from './envelope.ts';
import { toApiError } from './errors.ts';
import type { EventStreams } from './event-stream.ts';
import type { InFlightRequests, Work } from './in-flight.ts';
import { replayTo } from './replay.ts';
import type { RunningRequests } from './stoppable-requests.ts';

/** A response that Parley sends as a whole once its charge is final. */
export type WholeAnswer<T> = {
  /** Does the work. A failure refunds the charge. */
  prepare(admission: Admission, signal: AbortSignal): Promise<Outcome>;
  send(): T | FastifyReply;
};

export type StreamedAnswer = {
  /** Works until the engine's first output. A failure refunds the charge. */
  prepare(admission: Admission, signal: AbortSignal): Promise<undefined>;
  /** Sends all output. The charge is already final. */
  stream(work: Work): Promise<void>;
  /** The outcome so far, for the ledger. With `isKept`, it includes the turn to store. */
  outcome(isKept: boolean): Outcome;
  /** The response body for a retry, with the error that ended the response, if any. */
  replay(envelope?: Envelope): string;
  end(envelope?: Envelope): void;
  /** Stops the engine, even if some output is unread. */
  close(): Promise<unknown>;
};

/** The ledger, and where charged work is counted for limits, cancellation, shutdown, and metrics. */
export type Charging = {
  calls: Calls;
  inFlight: InFlightRequests;
  ledger: Ledger;
  metrics: Metrics;
  running: RunningRequests;
  streams: EventStreams;
};

type Run = {
  admission: Admission;
  charging: Charging;
  cost: Cost;
  reply: FastifyReply;
  request: FastifyRequest;
  slot: Slot;
  work: Work;
};

/** The failure to record if the client disconnected. The status is nginx's, and no client receives it. */
const clientDisconnected = { statusCode: 499, code: null } as const;

export const nothingKnown: Outcome = { model: null, inputTokens: 0, outputTokens: 0 };

/**
 * Charges a request, runs its work, and settles the charge. The route's `config.meter` names the quota. With an
 * idempotency key, the work finishes even if the client disconnects, and the response is stored with the charge.
 *
 * If the account's plan limits tokens, the ledger reserves the tokens that the request can use.
 *
 * @returns what `send` returns, or the Fastify reply if it was already sent or the client disconnected
 * @throws ApiError `tooManyStreams`, `tooManyCalls`, `quotaExceeded`, `idempotencyMismatch`, `idempotencyInProgress`;
 *   whatever the work throws before its first output
 */
export async function runUnderCharge<T>(
  charging: Charging,
  request: FastifyRequest,
  reply: FastifyReply,
  cost: Cost,
  answer: WholeAnswer<T> | StreamedAnswer,
): Promise<T | FastifyReply> {
  const { calls, inFlight, ledger } = charging;
  const { caller, id, routeOptions } = request;
  const { meter } = routeOptions.config;
  if (meter === undefined) throw new Error(`The route ${routeOptions.url} declares no meter.`);
  const retry = request.retry ?? undefined;
  const endpoint = `${request.method} ${routeOptions.url}`;
  const slot = await calls.take(caller.accountId, 'stream' in answer);
  const work = inFlight.begin(reply, retry !== undefined);
  try {
    if (work.isClientGone) return reply.hijack();
    const { accountId, keyId } = caller;
    const { maxOutput, model, tokens, units } = cost;
    const admission = await ledger.admit({
      ...{ id, accountId, keyId, endpoint, meter, model, units, tokens, retry },
    });
    if ('answer' in admission) return replayTo(request, reply, admission);
    if (admission.reserved !== undefined && maxOutput !== undefined) request.maxOutput = maxOutput;
    const run = { admission, charging, cost, reply, request, slot, work };
    return meter === 'chat' ? await runStoppable(run, answer) : await runAdmitted(run, answer);
  } finally {
    slot.release();
    work.end();
  }
}

async function runStoppable<T>(run: Run, answer: WholeAnswer<T> | StreamedAnswer): Promise<T | FastifyReply> {
  const { accountId, id: requestId, keyId, retry } = run.admission;
  const identity = { accountId, keyId, requestId, idempotencyKey: retry?.key };
  const end = run.charging.running.begin(identity, run.work);
  try {
    return await runAdmitted(run, answer);
  } finally {
    end();
  }
}

async function runAdmitted<T>(run: Run, answer: WholeAnswer<T> | StreamedAnswer): Promise<T | FastifyReply> {
  let isSettling = false;
  let isFinal = false;
  try {
    const { admission, charging, reply, request, work } = run;
    if (work.isAbandoned) {
      await charging.ledger.refund(admission, clientDisconnected);
      return reply.hijack();
    }
    request.isCharged = true;
    const { reading, reserved } = admission;
    if (reading !== null) request.server.limits.showQuota(request, reply, reading, reserved);
    const outcome = await answer.prepare(admission, work.signal);
    if ('stream' in answer) noteFirstOutput(run);
    else observe(run);
    const ending = work.isAbandoned ? { failure: clientDisconnected } : {};
    isSettling = true;
    await charging.ledger.finalize(admission, outcome && { ...recorded(run, outcome), ...ending });
    isFinal = true;
    if ('stream' in answer) return await streamFinal(run, answer);
    return work.isClientGone ? reply.hijack() : answer.send();
  } catch (error) {
    const { admission, charging, reply, work } = run;
    if (isFinal) throw error;
    // Do not settle again after a failed settlement, even if the client disconnected.
    if (!work.isAbandoned || isSettling) throw await refundOrKeep(run, error);
    observe(run);
    // The request was still waiting for a connection to the upstream.
    if (progressOf(work.signal)?.isCalled === false) {
      await charging.ledger.refund(admission, clientDisconnected);
      return reply.hijack();
    }
    const outcome = 'stream' in answer ? answer.outcome(false) : estimated(run);
    await charging.ledger.finalize(admission, {
      ...recorded(run, outcome),
      failure: clientDisconnected,
    });
    return reply.hijack();
  } finally {
    if ('stream' in answer) await answer.close();
  }
}

/** The outcome to record for an engine that reported nothing. */
const estimated = ({ cost }: Run): Outcome => cost.estimate?.() ?? nothingKnown;

/**
 * The outcome with the tokens to charge. If the engine reported none, they are the most of the reservation that it can
 * have used. Without a reservation, they are an estimate. An engine that was not called used none.
 */
function recorded({ admission, cost, work }: Run, outcome: Outcome): Outcome {
  if (outcome.unreported === undefined) return outcome;
  if (progressOf(work.signal)?.isCalled === false) return { ...outcome, inputTokens: 0, outputTokens: 0 };
  if (admission.reserved === undefined) return outcome;
  return { ...outcome, ...reservedTokens(cost, outcome.unreported.bytes) };
}

function noteFirstOutput({ admission, charging, request }: Run): void {
  const ms = performance.now() - admission.startedAt;
  charging.metrics.firstOutputSeconds.observe({ route: String(request.routeOptions.url) }, ms / 1000);
  observe({ admission, request }, Math.round(ms));
}

/** Copies the known details of the work to the admission, for the log. */
function observe({ admission, request }: Pick<Run, 'admission' | 'request'>, firstOutputMs?: number): void {
  const { prices, routed } = request;
  admission.prices = prices;
  if (routed === undefined && firstOutputMs === undefined) return;
  admission.observed = {
    ...(firstOutputMs !== undefined && { first_output_ms: firstOutputMs }),
    ...(routed && {
      attempts: routed.attempts,
      upstream: routed.upstream,
      upstream_model: routed.model,
    }),
  };
}

/** Streams the response of a final charge. Records how it ended before sending the last event. */
async function streamFinal(run: Run, answer: StreamedAnswer): Promise<FastifyReply> {
  const { admission, charging, reply, request, slot, work } = run;
  const { ledger } = charging;
  const stored = (envelope?: Envelope) =>
    admission.retry && { answer: { status: 200, body: answer.replay(envelope) } };
  let envelope: Envelope | undefined;
  try {
    await answer.stream(work);
    await ledger.complete(admission, { ...recorded(run, answer.outcome(true)), ...stored() });
  } catch (error) {
    const problem = interruptedError(toApiError(error));
    const { code, statusCode } = problem;
    envelope = envelopeFor(request, problem);
    if (!work.isAbandoned) charging.metrics.errors.inc({ code });
    if (!work.isAbandoned) request.span?.fail(code);
    if (!work.isAbandoned) request.log.error({ code, err: problem.options.cause }, problem.message);
    await ledger
      .complete(admission, {
        ...recorded(run, answer.outcome(work.isAbandoned)),
        failure: work.isAbandoned ? clientDisconnected : { code, statusCode },
        // If the engine or the client caused the end, a retry gets the same response. Otherwise, it reruns the work.
        ...(!isOurFailure(problem) && stored(envelope)),
      })
      .catch((err: unknown) => request.log.error({ err }, 'Could not record the end of a stream.'));
    if (!reply.sent) throw problem;
  }
  // Once a client has the whole response, it can open its next stream.
  slot.release();
  answer.end(envelope);
  return reply;
}

/**
 * Refunds a charge whose work failed before its first byte. The charge stays if the client can provoke the failure and
 * has used up such refunds. Returns the error to throw.
 */
async function refundOrKeep(run: Run, error: unknown): Promise<unknown> {
  const { admission, charging, reply, request, work } = run;
  const { limits } = request.server;
  observe(run);
  const isResumed = admission.attempt !== undefined;
  let thrown = error;
  const { isProvokable = false } = toApiError(error).options;
  // The request was still waiting for a connection to the upstream.
  const isUnasked = progressOf(work.signal)?.isCalled === false;
  if (isProvokable && !isUnasked && (isResumed || !(await limits.grantRefund(request).catch(() => true)))) {
    const kept = keptChargeError(toApiError(error), isResumed);
    try {
      await keep(run, kept);
      return kept;
    } catch (err) {
      request.log.error({ err }, 'Could not finalize a charge.');
      thrown = err;
    }
  }
  const isRefunded = await charging.ledger.refund(admission, toApiError(thrown));
  if (isResumed) return resumeFailedError(toApiError(thrown));
  const { reading, reserved, tokens = 0, units } = admission;
  // The headers show the units as charged until the refund is written.
  if (isRefunded && reading !== null)
    limits.showQuota(
      request,
      reply,
      { ...reading, used: reading.used - units },
      reserved && { ...reserved, used: reserved.used - tokens },
    );
  return thrown;
}

/** Finalizes a charge with an error as its response. Retries with the same idempotency key get that response too. */
async function keep(run: Run, problem: ApiError): Promise<void> {
  const { admission, charging, request } = run;
  const { code, statusCode } = problem;
  const envelope = envelopeFor(request, problem);
  const answer = { status: statusCode, body: withoutApiKeys(JSON.stringify(envelope)) };
  await charging.ledger.finalize(admission, {
    ...recorded(run, estimated(run)),
    failure: { code, statusCode },
    ...(admission.retry && { answer }),
  });
}
