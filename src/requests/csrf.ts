/** Requests that change something with the session must come from the service's own pages. Contract section 9. */
import type { FastifyRequest } from 'fastify';
import { isOwnOrigin, namedOrigin, type OwnAddress } from '../domain/own-origin.ts';
import { ApiError } from '../errors.ts';

const safeMethods: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS']);

/** Where the service is, as the socket of this request tells: `PORT=0` listens on a port that nobody configured. */
export function ownAddress(request: FastifyRequest): OwnAddress {
  const { port, publicUrl, publicUrlIsSet } = request.server.config;
  return { publicUrl, publicUrlIsSet, port: request.socket.localPort ?? port };
}

/** What browsers say about where a request comes from. No browser leaves both headers out of an unsafe request. */
function isSameSite(request: FastifyRequest): boolean {
  const { origin, 'sec-fetch-site': fetchSite } = request.headers;
  if (fetchSite !== undefined) return fetchSite === 'same-origin';
  return origin === undefined || isOwnOrigin(origin, ownAddress(request));
}

/**
 * Refuses a request with an unsafe method that a browser sent from anywhere but the service's own pages. For
 * requests that a session authenticates, and for those that begin one.
 *
 * @throws ApiError `crossSiteRequest`
 */
export function assertSameSite(request: FastifyRequest): void {
  if (safeMethods.has(request.method) || isSameSite(request)) return;
  const dashboard = namedOrigin(ownAddress(request));
  throw new ApiError('crossSiteRequest', {
    message: `This request did not come from a page of this service. Open the dashboard at ${dashboard}, or set PUBLIC_URL to the address in your browser.`,
  });
}
