/** The dashboard: one page for each of its addresses, and the files that this page loads. Contract section 1. */
import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import staticFiles from '@fastify/static';
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { html } from 'ghtml';
import { pagePaths } from '../dashboard/paths.ts';
import { sendPage } from '../pages/layout.ts';
import { projectRoot } from '../project.ts';

const YEAR_SECONDS = 31_536_000;
/** Where the prepare step `dashboard` builds to. */
const built = new URL('dist/dashboard/', projectRoot);
const placeholder = '%CSP_NONCE%';

/** The page's own, in place of those of other answers. Styles that its components make at run time carry the nonce. */
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
<p>The service runs, and its API answers. Start it with <code>make start</code>, which builds this page too.</p>
<p><a href="/docs">Guides</a> · <a href="/openapi.json">openapi.json</a></p>
`,
};

const routes: FastifyPluginAsyncTypebox = async (app) => {
  const index = new URL('index.html', built);
  const page = existsSync(index) ? readFileSync(index, 'utf8') : undefined;

  for (const path of pagePaths) {
    app.get(path, { schema: { hide: true } }, async (_request, reply) => {
      if (page === undefined) return sendPage(reply.code(503), notBuilt);
      const nonce = randomBytes(16).toString('base64');
      return reply
        .headers(securityHeaders(nonce))
        .type('text/html; charset=utf-8')
        .send(page.replaceAll(placeholder, nonce));
    });
  }

  if (page === undefined) return;
  app.register(async (assets) => {
    // Each is there in three encodings; a cache in between must not mix them up.
    assets.addHook('onRequest', async (_request, reply) => {
      reply.header('vary', 'Accept-Encoding');
    });
    // The names change with the content.
    assets.register(staticFiles, {
      root: fileURLToPath(new URL('assets/', built)),
      prefix: '/assets/',
      decorateReply: false,
      index: false,
      preCompressed: true,
      immutable: true,
      maxAge: YEAR_SECONDS * 1000,
    });
  });
};

export default routes;
