/** Metered work: charged before, final before the first byte, refunded where it failed. Contract section 5. */
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Admission, Outcome } from '../domain/ledger.ts';
import { quotaHeaders } from '../domain/quota.ts';
import { toApiError } from './errors.ts';

/** How a charge ends whose client left; the number is nginx's, and no client ever sees it. */
export const clientLeft = { statusCode: 499, code: null } as const;

const nothingKnown: Outcome = { model: null, inputTokens: 0, outputTokens: 0 };

/**
 * Charges a request. The route's `config.meter` says which quota it draws on.
 *
 * @param units - how many; all or nothing
 * @throws ApiError `quotaExceeded`
 */
export function admit(request: FastifyRequest, units: number): Promise<Admission> {
  const { config, url } = request.routeOptions;
  if (config.meter === undefined) throw new Error(`The route ${url} declares no meter.`);
  const { accountId, keyId } = request.caller;
  const endpoint = `${request.method} ${url}`;
  return request.server.ledger.admit({ accountId, keyId, endpoint, meter: config.meter, units });
}

/** Gives a charge back for work that failed. What failed is to be told, so that nothing is thrown here. */
export async function giveBack(request: FastifyRequest, admission: Admission, error: unknown): Promise<void> {
  await request.server.ledger
    .refund(admission, toApiError(error as Error & { code: string }))
    .catch((err: unknown) => request.log.error({ err }, 'A charge could not be given back.'));
}

/**
 * Runs metered work under a charge.
 *
 * @param units - how many; all or nothing
 * @param work - its value is returned once the charge is final; what it throws refunds the charge, unless it was given
 *   up because the client left
 * @returns the work's value, or the reply, to which nothing is to be sent, where the client left
 * @throws ApiError `quotaExceeded` before the work; whatever the work throws
 */
export async function metered<T>(
  request: FastifyRequest,
  reply: FastifyReply,
  units: number,
  work: (admission: Admission, signal: AbortSignal) => Promise<{ value: T; outcome: Outcome }>,
): Promise<T | FastifyReply> {
  const { ledger, work: underWay } = request.server;
  const task = underWay.begin(reply);
  try {
    if (task.isClientGone) return reply.hijack();
    const admission = await admit(request, units);
    try {
      const { outcome, value } = await work(admission, task.signal);
      await ledger.finalise(admission, task.isClientGone ? { ...outcome, failure: clientLeft } : outcome);
      reply.headers(quotaHeaders(admission.reading));
      return task.isClientGone ? reply.hijack() : value;
    } catch (error) {
      if (!task.isClientGone) {
        await giveBack(request, admission, error);
        throw error;
      }
    }
    await ledger.finalise(admission, { ...nothingKnown, failure: clientLeft });
    return reply.hijack();
  } finally {
    task.end();
  }
}
