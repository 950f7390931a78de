/** Metered work: charged before, final before the first byte, refunded where it failed. Contract section 5. */
import type { FastifyReply, FastifyRequest } from 'fastify';
import { withoutApiKeys } from '../domain/api-key.ts';
import { staysCharged, stillCharged } from '../domain/charged-errors.ts';
import type { Admission, Outcome } from '../domain/ledger.ts';
import { type ApiError, errorEnvelope } from '../errors.ts';
import { toApiError } from './errors.ts';
import type { Work } from './in-flight.ts';
import { replayTo, serialised } from './replay.ts';

/** How a charge ends whose client left; the number is nginx's, and no client ever sees it. */
export const clientLeft = { statusCode: 499, code: null } as const;

/** What is recorded of an answer that nothing is known of. */
export const nothingKnown: Outcome = { model: null, inputTokens: 0, outputTokens: 0 };

/**
 * Charges a request. The route's `config.meter` says which quota it draws on; the reply's headers show it.
 *
 * @param units - how many; all or nothing
 * @returns the charge; undefined where nothing is left to do: an earlier request with the same idempotency key was answered
 *   again, or the client left before the engine was asked, and stays uncharged
 * @throws ApiError `quotaExceeded`, `idempotencyMismatch`, `idempotencyInProgress`
 */
export async function admit(
  request: FastifyRequest,
  reply: FastifyReply,
  work: Work,
  units: number,
): Promise<Admission | undefined> {
  if (work.isClientGone) {
    reply.hijack();
    return undefined;
  }
  const { ledger, limits } = request.server;
  const { config, url } = request.routeOptions;
  if (config.meter === undefined) throw new Error(`The route ${url} declares no meter.`);
  const { accountId, keyId } = request.caller;
  const endpoint = `${request.method} ${url}`;
  const retry = request.retry ?? undefined;
  const admission = await ledger.admit({
    id: request.id,
    ...{ accountId, keyId, endpoint, meter: config.meter, units, retry },
  });
  if ('answer' in admission) {
    replayTo(request, reply, admission);
    return undefined;
  }
  try {
    if (work.isAbandoned) {
      await ledger.refund(admission, clientLeft);
      reply.hijack();
      return undefined;
    }
    request.isCharged = true;
    if (admission.reading !== null) limits.showQuota(request, reply, admission.reading);
    return admission;
  } catch (error) {
    throw await giveBack(request, reply, admission, error);
  }
}

/** Ends a charge for good with an error in place of an answer. A retry with the same idempotency key gets this error. */
async function keepCharge(request: FastifyRequest, admission: Admission, problem: ApiError): Promise<void> {
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

/**
 * Ends the charge of work that failed before its first byte: gives it back, unless the client can cause the failure on
 * purpose and was refunded for such too often. Contract section 7.
 *
 * @returns what is to be thrown, which says whether the request stays charged
 */
export async function giveBack(
  request: FastifyRequest,
  reply: FastifyReply,
  admission: Admission,
  error: unknown,
): Promise<unknown> {
  const { ledger, limits } = request.server;
  const problem = toApiError(error as Error & { code: string });
  const isResumed = admission.attempt !== undefined;
  try {
    const { isProvokable = false } = problem.options;
    if (isProvokable && (isResumed || !(await limits.grantRefund(request).catch(() => true)))) {
      const kept = staysCharged(problem, isResumed);
      await keepCharge(request, admission, kept);
      return kept;
    }
    await ledger.refund(admission, problem);
    if (isResumed) return stillCharged(problem);
    const { reading, units } = admission;
    if (reading !== null) limits.showQuota(request, reply, { ...reading, used: reading.used - units });
    return error;
  } catch (err) {
    request.log.error({ err }, 'A charge could not be given back.');
    return isResumed ? stillCharged(toApiError(err as Error & { code: string })) : err;
  }
}

/**
 * Runs metered work under a charge. Under an idempotency key it runs to its end even when the client leaves, and its answer
 * is stored with the charge's final state.
 *
 * @param units - how many; all or nothing
 * @param work - its value is returned once the charge is final; what it throws ends in `giveBack`, unless it was given up
 *   because the client left
 * @returns the work's value, or the reply, to which nothing is to be sent, where the client left or it was sent already
 * @throws ApiError `tooManyCalls` or `quotaExceeded` before the work; whatever the work throws
 */
export async function metered<T>(
  request: FastifyRequest,
  reply: FastifyReply,
  units: number,
  work: (admission: Admission, signal: AbortSignal) => Promise<{ value: T; outcome: Outcome }>,
): Promise<T | FastifyReply> {
  const { calls, ledger, inFlight } = request.server;
  const slot = await calls.take(request.caller.accountId, false);
  const task = inFlight.begin(reply, request.retry !== null);
  try {
    const admission = await admit(request, reply, task, units);
    if (admission === undefined) return reply;
    let value: T;
    let body: string | undefined;
    try {
      const done = await work(admission, task.signal);
      value = done.value;
      body = admission.retry && serialised(reply, value);
      await ledger.finalise(admission, {
        ...done.outcome,
        ...(body !== undefined && { answer: { status: 200, body } }),
        ...(task.isAbandoned && { failure: clientLeft }),
      });
    } catch (error) {
      if (!task.isAbandoned) throw await giveBack(request, reply, admission, error);
      await ledger.finalise(admission, { ...nothingKnown, failure: clientLeft });
      return reply.hijack();
    }
    if (task.isClientGone) return reply.hijack();
    return body === undefined ? value : reply.type('application/json; charset=utf-8').send(body);
  } finally {
    slot.release();
    task.end();
  }
}
