/** Recognizes requests from clients of Anthropic's API. Contract section 14. */
import type { FastifyRequest } from 'fastify';

type IncomingRequest = Pick<FastifyRequest, 'headers' | 'id' | 'routeOptions' | 'url'>;

const MESSAGES = /^\/api\/v1\/messages(?![^/?])/;
const MODELS = /^\/api\/v1\/models(?![^/?])/;

/** Decides by the route, or by the path if none matched. On `/models`, only these clients send `anthropic-version`. */
export function isOfAnthropic({ headers, routeOptions, url }: Omit<IncomingRequest, 'id'>): boolean {
  const path = routeOptions.url ?? url;
  return MESSAGES.test(path) || (headers['anthropic-version'] !== undefined && MODELS.test(path));
}

export const idHeaders = (request: IncomingRequest): Record<string, string> => ({
  'x-request-id': request.id,
  ...(isOfAnthropic(request) && { 'request-id': request.id }),
});
