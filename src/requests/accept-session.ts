import type { FastifyReply, FastifyRequest } from 'fastify';
import { assertSameSite } from './csrf.ts';

/**
 * Rejects a cross-site request with ApiError `crossSiteRequest` before counting it. Otherwise another site could use up
 * the account's requests. Contract sections 5 and 9.
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
