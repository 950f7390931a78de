/** Metered work: charged before, final before the first byte, refunded where it failed. Contract section 5. */
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Admission, Outcome } from '../domain/ledger.ts';
import { toApiError } from './errors.ts';
import { replayTo, serialised } from './idempotency.ts';
import type { Work } from './work.ts';

/** How a charge ends whose client left; the number is nginx's, and no client ever sees it. */
export const clientLeft = { statusCode: 499, code: null } as const;

const nothingKnown: Outcome = { model: null, inputTokens: 0, outputTokens: 0 };

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
  if (work.isAbandoned) {
    await ledger.refund(admission, clientLeft);
    reply.hijack();
    return undefined;
  }
  request.isCharged = true;
  if (admission.reading !== null) limits.showQuota(request, reply, admission.reading);
  return admission;
}

/** Gives a charge back for work that failed. What failed is to be told, so that nothing is thrown here. */
export async function giveBack(
  request: FastifyRequest,
  reply: FastifyReply,
  admission: Admission,
  error: unknown,
): Promise<void> {
  const { ledger, limits } = request.server;
  try {
    await ledger.refund(admission, toApiError(error as Error & { code: string }));
    const { reading, units } = admission;
    if (reading !== null) limits.showQuota(request, reply, { ...reading, used: reading.used - units });
  } catch (err) {
    request.log.error({ err }, 'A charge could not be given back.');
  }
}

/**
 * Runs metered work under a charge. Under an idempotency key it runs to its end even when the client leaves, and its answer
 * is stored with the charge's final state.
 *
 * @param units - how many; all or nothing
 * @param work - its value is returned once the charge is final; what it throws refunds the charge, unless it was given
 *   up because the client left
 * @returns the work's value, or the reply, to which nothing is to be sent, where the client left or it was sent already
 * @throws ApiError `quotaExceeded` before the work; whatever the work throws
 */
export async function metered<T>(
  request: FastifyRequest,
  reply: FastifyReply,
  units: number,
  work: (admission: Admission, signal: AbortSignal) => Promise<{ value: T; outcome: Outcome }>,
): Promise<T | FastifyReply> {
  const { ledger, work: underWay } = request.server;
  const task = underWay.begin(reply, request.retry !== null);
  try {
    const admission = await admit(request, reply, task, units);
    if (admission === undefined) return reply;
    try {
      const { outcome, value } = await work(admission, task.signal);
      const answer = admission.retry && serialised(reply, value);
      await ledger.finalise(admission, {
        ...outcome,
        ...(answer !== undefined && { answer }),
        ...(task.isAbandoned && { failure: clientLeft }),
      });
      if (task.isClientGone) return reply.hijack();
      return answer === undefined ? value : reply.type('application/json; charset=utf-8').send(answer);
    } catch (error) {
      if (!task.isAbandoned) {
        await giveBack(request, reply, admission, error);
        throw error;
      }
    }
    await ledger.finalise(admission, { ...nothingKnown, failure: clientLeft });
    return reply.hijack();
  } finally {
    task.end();
  }
}
