/** The interactive API reference: a header, and the renderer, which shows the OpenAPI document. */
import { randomBytes } from 'node:crypto';
import { html } from 'ghtml';
import type { Operation } from './api-document.ts';
import { frameHead, frameHeader, pageFile } from './layout.ts';

const stylesheet = pageFile('reference.css', 'text/css; charset=utf-8');
const script = pageFile('reference.js', 'text/javascript; charset=utf-8');

export const referenceFiles = [stylesheet, script];

export const documentPath = '/docs/openapi.json';

/**
 * Allows scripts only from this origin, and styles from this origin or with the nonce. The renderer also uses `style`
 * attributes, which a nonce cannot cover. They cannot load anything.
 */
const securityHeaders = (nonce: string) => ({
  'content-security-policy': [
    "default-src 'none'",
    "script-src 'self'",
    `style-src 'self' 'nonce-${nonce}'`,
    "style-src-attr 'unsafe-inline'",
    "img-src 'self' data: blob:",
    "font-src 'self'",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'self'",
    "frame-ancestors 'none'",
  ].join('; '),
  'referrer-policy': 'same-origin',
});

export const operationUrl = ({ operationId }: Pick<Operation, 'operationId'>): string =>
  `/docs/api/${operationId}`;

/** The URL at which the reader can send requests to an operation. */
export const tryUrl = (operation?: Operation): string =>
  operation === undefined
    ? '/docs/try'
    : `/docs/try#tag/${operation.tag.toLowerCase()}/${operation.operationId}`;

/**
 * Creates the page and its headers. Each page has a new nonce, so do not cache it.
 *
 * @param note - HTML above the renderer
 */
export function referencePage(
  renderer: string,
  note: string,
): { headers: Record<string, string>; page: string } {
  const nonce = randomBytes(16).toString('base64');
  const page = html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Try the API · Parley</title>
<meta name="description" content="Every operation of the API, with code samples and a form to try it with your key.">
<meta name="color-scheme" content="light dark">
<meta property="csp-nonce" content="${nonce}">
!${frameHead}
<link rel="stylesheet" href="${stylesheet.url}">
<script src="${script.url}" defer></script>
<script src="${renderer}" defer></script>
</head>
<body>
!${frameHeader('/docs/try')}
!${note}<div id="reference" data-document="${documentPath}"><p class="parley-loading">Loading the API reference…</p></div>
<noscript><p class="parley-loading">This page needs JavaScript. The <a href="/docs">API reference</a> and the <a href="/docs/guides">guides</a> do not.</p></noscript>
</body>
</html>
`;
  return { headers: securityHeaders(nonce), page };
}
