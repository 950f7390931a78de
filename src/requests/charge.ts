/** The life of a charge, from the slot it takes to its end. Contract sections 5, 7 and 10; decision 0010. */
import type { FastifyReply, FastifyRequest } from 'fastify';
import { withoutApiKeys } from '../domain/api-key.ts';
import { brokenOff, isOurFailure, staysCharged, stillCharged } from '../domain/charged-errors.ts';
import type { Admission, Outcome } from '../domain/ledger.ts';
import { type ApiError, type Envelope, errorEnvelope } from '../errors.ts';
import type { Slot } from '../limits/calls.ts';
import { toApiError } from './errors.ts';
import type { Work } from './in-flight.ts';
import { replayTo } from './replay.ts';

/** An answer that is made whole, and sent once its charge is final. */
export type WholeAnswer<T> = {
  /** Does the work. A failure refunds the charge. */
  prepare(admission: Admission, signal: AbortSignal): Promise<Outcome>;
  send(): T | FastifyReply;
};

/** An answer that is sent while it is made. */
export type StreamedAnswer = {
  /** Works up to the engine's first output. A failure refunds the charge. */
  prepare(admission: Admission, signal: AbortSignal): Promise<undefined>;
  /** Sends the first output and all that follows. The charge is final. */
  stream(work: Work): Promise<void>;
  /** What came so far, for the ledger; with `isKept` also the turn to store. */
  outcome(isKept: boolean): Outcome;
  /** The body for a retry, with the error that ended the answer if one did. */
  replay(envelope?: Envelope): string;
  /** Sends the last event. */
  end(envelope?: Envelope): void;
  /** Ends the engine's work, even if nobody read all of it. */
  close(): Promise<unknown>;
};

/** A request under its charge. */
type Run = { admission: Admission; reply: FastifyReply; request: FastifyRequest; slot: Slot; work: Work };

/** How a charge ends whose client left. No client ever sees the status, which is nginx's. */
const clientLeft = { statusCode: 499, code: null } as const;

/** The outcome of an answer of which nothing came. */
export const nothingKnown: Outcome = { model: null, inputTokens: 0, outputTokens: 0 };

/**
 * Charges a request, runs its work, and settles the charge. The route's `config.meter` names the quota; the reply's
 * headers show it. With an idempotency key the work runs to its end even if the client leaves, and the answer is stored
 * with the charge's final state.
 *
 * @param units - all or nothing
 * @returns what `send` returns; or the reply, if the answer was sent already or the client left
 * @throws ApiError `tooManyStreams`, `tooManyCalls`, `quotaExceeded`, `idempotencyMismatch` or `idempotencyInProgress`
 *   before the work; whatever the work throws before its first output
 */
export async function runUnderCharge<T>(
  request: FastifyRequest,
  reply: FastifyReply,
  units: number,
  answer: WholeAnswer<T> | StreamedAnswer,
): Promise<T | FastifyReply> {
  const { calls, inFlight, ledger } = request.server;
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
    const admission = await ledger.admit({ id, accountId, keyId, endpoint, meter, units, retry });
    return 'answer' in admission
      ? replayTo(request, reply, admission)
      : await runAdmitted({ admission, reply, request, slot, work }, answer);
  } finally {
    slot.release();
    work.end();
  }
}

/** Runs the work of an admitted charge, and makes the charge final or gives it back. */
async function runAdmitted<T>(run: Run, answer: WholeAnswer<T> | StreamedAnswer): Promise<T | FastifyReply> {
  let isFinal = false;
  try {
    const { admission, reply, request, work } = run;
    if (work.isAbandoned) {
      await request.server.ledger.refund(admission, clientLeft);
      return reply.hijack();
    }
    request.isCharged = true;
    if (admission.reading !== null) request.server.limits.showQuota(request, reply, admission.reading);
    const outcome = await answer.prepare(admission, work.signal);
    const ending = work.isAbandoned ? { failure: clientLeft } : {};
    await request.server.ledger.finalise(admission, outcome && { ...outcome, ...ending });
    isFinal = true;
    if ('stream' in answer) return await streamFinal(run, answer);
    return work.isClientGone ? reply.hijack() : answer.send();
  } catch (error) {
    const { admission, reply, request, work } = run;
    if (isFinal) throw error;
    if (!work.isAbandoned) throw await giveBack(run, error);
    const outcome = 'stream' in answer ? answer.outcome(false) : nothingKnown;
    await request.server.ledger.finalise(admission, { ...outcome, failure: clientLeft });
    return reply.hijack();
  } finally {
    if ('stream' in answer) await answer.close();
  }
}

/** Streams the answer of a final charge, and records how it ended before its last event. */
async function streamFinal(run: Run, answer: StreamedAnswer): Promise<FastifyReply> {
  const { admission, reply, request, slot, work } = run;
  const { config, ledger } = request.server;
  const stored = (envelope?: Envelope) =>
    admission.retry && { answer: { status: 200, body: answer.replay(envelope) } };
  let envelope: Envelope | undefined;
  try {
    await answer.stream(work);
    await ledger.complete(admission, { ...answer.outcome(true), ...stored() });
  } catch (error) {
    const problem = brokenOff(toApiError(error));
    const { code, statusCode } = problem;
    envelope = errorEnvelope(problem, request.id, config.publicUrl);
    if (!work.isAbandoned) request.log.error({ code, err: problem.options.cause }, problem.message);
    await ledger
      .complete(admission, {
        ...answer.outcome(work.isAbandoned),
        failure: work.isAbandoned ? clientLeft : { code, statusCode },
        // A retry gets what the engine or the client brought about, and runs the work again only if our side failed.
        ...(!isOurFailure(problem) && stored(envelope)),
      })
      .catch((err: unknown) => request.log.error({ err }, 'Could not record the end of a stream.'));
    if (!reply.sent) throw problem;
  }
  // A client that has the whole answer can open its next stream.
  slot.release();
  answer.end(envelope);
  return reply;
}

/**
 * Ends a charge whose work failed before its first byte: refunds it, unless the client can cause the failure on purpose and
 * was refunded for such failures too often.
 *
 * @returns the error to throw, which says whether the request stays charged
 */
async function giveBack(run: Run, error: unknown): Promise<unknown> {
  const { admission, reply, request } = run;
  const { ledger, limits } = request.server;
  const isResumed = admission.attempt !== undefined;
  let thrown = error;
  const { isProvokable = false } = toApiError(error).options;
  if (isProvokable && (isResumed || !(await limits.grantRefund(request).catch(() => true)))) {
    const kept = staysCharged(toApiError(error), isResumed);
    try {
      await keep(run, kept);
      return kept;
    } catch (err) {
      request.log.error({ err }, 'Could not finalize a charge.');
      thrown = err;
    }
  }
  const isRefunded = await ledger.refund(admission, toApiError(thrown));
  if (isResumed) return stillCharged(toApiError(thrown));
  const { reading, units } = admission;
  // Until the refund is known to be written, the headers show the units as charged.
  if (isRefunded && reading !== null)
    limits.showQuota(request, reply, { ...reading, used: reading.used - units });
  return thrown;
}

/** Makes a charge final with an error as its answer, which a retry with the same idempotency key gets, too. */
async function keep({ admission, request }: Run, problem: ApiError): Promise<void> {
  const { config, ledger } = request.server;
  const { code, statusCode } = problem;
  const envelope = errorEnvelope(problem, request.id, config.publicUrl);
  const answer = { status: statusCode, body: withoutApiKeys(JSON.stringify(envelope)) };
  await ledger.finalise(admission, {
    ...nothingKnown,
    failure: { code, statusCode },
    ...(admission.retry && { answer }),
  });
}
