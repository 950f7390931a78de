/** Requires that requests with a session that change state come from the service's own pages. Contract section 9. */
import type { FastifyRequest } from 'fastify';
import { isOwnOrigin, namedOrigin, type OwnAddress } from '../domain/own-origin.ts';
import { ApiError } from '../errors.ts';

const safeMethods: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS']);

/** The service's address. The port is the socket's, because with `PORT=0` the configuration does not know it. */
export function ownAddress(request: FastifyRequest): OwnAddress {
  const { port, publicUrl, publicUrlIsSet } = request.server.config;
  return { publicUrl, publicUrlIsSet, port: request.socket.localPort ?? port };
}

/** Every browser sends at least one of the two headers with an unsafe request. */
function isSameSite(request: FastifyRequest): boolean {
  const { origin, 'sec-fetch-site': fetchSite } = request.headers;
  if (fetchSite !== undefined) return fetchSite === 'same-origin';
  return origin === undefined || isOwnOrigin(origin, ownAddress(request));
}

/** The error for a request from another site. It names the dashboard's address. */
export const crossSiteRequest = (dashboard: string): ApiError =>
  new ApiError('crossSiteRequest', {
    message: `This request did not come from a page of this service. Open the dashboard at ${dashboard}. If you run this service, set \`PUBLIC_URL\` to the address in your browser.`,
  });

/** Rejects an unsafe request from another site with ApiError `crossSiteRequest`. Starting a session needs it too. */
export function assertSameSite(request: FastifyRequest): void {
  if (safeMethods.has(request.method) || isSameSite(request)) return;
  throw crossSiteRequest(namedOrigin(ownAddress(request)));
}
