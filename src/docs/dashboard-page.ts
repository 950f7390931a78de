import { randomBytes } from 'node:crypto';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { html } from 'ghtml';
import { dashboardIndex, isDashboardBuilt } from './built-dashboard.ts';
import { isApiPath, sendPage, wantsPage } from './layout.ts';

const placeholder = '%CSP_NONCE%';

/** Replaces the headers of other responses. Styles that components add at run time have the nonce. */
const securityHeaders = (nonce: string) => ({
  'content-security-policy': [
    "default-src 'none'",
    "script-src 'self'",
    `style-src 'self' 'nonce-${nonce}'`,
    "img-src 'self' data:",
    "font-src 'self'",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'self'",
    "frame-ancestors 'none'",
  ].join('; '),
  'referrer-policy': 'same-origin',
});

const notBuilt = {
  title: 'Parley',
  description: 'The dashboard is not built.',
  main: html`<h1>The dashboard is not built</h1>
<p>The service is running and the API works. To build this page too, start the service with <code>make start</code>.</p>
<p><a href="/docs/guides">Guides</a> · <a href="/docs">API reference</a></p>
`,
};

/** Sends the dashboard, or 503 if it is not built. Keeps the status of `reply`. */
export function sendDashboard(reply: FastifyReply): FastifyReply {
  if (dashboardIndex === undefined) return sendPage(reply.code(503), notBuilt);
  const nonce = randomBytes(16).toString('base64');
  return reply
    .headers(securityHeaders(nonce))
    .type('text/html; charset=utf-8')
    .send(dashboardIndex.replaceAll(placeholder, nonce));
}

/** Whether a browser opened an unknown path, for which the dashboard has a page. */
export const wantsNotFoundPage = (request: FastifyRequest): boolean =>
  isDashboardBuilt && wantsPage(request) && !isApiPath(request.url);
