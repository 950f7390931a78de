/** Accepts a request whose account a session has named: `request.caller` is set. Contract sections 5 and 9. */
import type { FastifyReply, FastifyRequest } from 'fastify';
import { assertSameSite } from './csrf.ts';

/**
 * Refuses requests from other sites, then counts. In this order, so that another site cannot use up the account's
 * requests.
 *
 * @throws ApiError `crossSiteRequest`, `rateLimitExceeded`
 */
export async function acceptSession(request: FastifyRequest, reply: FastifyReply): Promise<void> {
  const { limits } = request.server;
  try {
    assertSameSite(request);
  } catch (error) {
    await limits.showRequests(request, reply);
    throw error;
  }
  await limits.countRequest(request, reply);
}
