/** Metered work: charged before, final before the first byte, refunded where it failed. Contract section 5. */
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Admission, Outcome } from '../domain/ledger.ts';
import { quotaHeaders } from '../domain/quota.ts';
import { toApiError } from './errors.ts';

/**
 * Runs metered work under a charge. The route's `config.meter` says which quota it draws on.
 *
 * @param units - how many; all or nothing
 * @param work - its value is returned once the charge is final; what it throws refunds the charge
 * @throws ApiError `quotaExceeded` before the work; whatever the work throws
 */
export async function metered<T>(
  request: FastifyRequest,
  reply: FastifyReply,
  units: number,
  work: (admission: Admission) => Promise<{ value: T; outcome: Outcome }>,
): Promise<T> {
  const { ledger } = request.server;
  const { config, url } = request.routeOptions;
  if (config.meter === undefined) throw new Error(`The route ${url} declares no meter.`);
  const { accountId, keyId } = request.caller;
  const endpoint = `${request.method} ${url}`;
  const admission = await ledger.admit({ accountId, keyId, endpoint, meter: config.meter, units });
  request.isCharged = true;
  const { outcome, value } = await work(admission).catch(async (error) => {
    await ledger.refund(admission, toApiError(error));
    throw error;
  });
  await ledger.finalise(admission, outcome);
  reply.headers(quotaHeaders(admission.reading));
  return value;
}
