/** The frame of every plain page: no script, one stylesheet, nothing from elsewhere. */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { FastifyReply } from 'fastify';
import { html } from 'ghtml';
import { projectRoot, version } from '../project.ts';

/** The stylesheet of the pages. */
export const stylesheet = readFileSync(new URL('src/pages/page.css', projectRoot), 'utf8');

/** Its address changes with it, so that browsers may keep it. */
const stylesheetUrl = `/assets/page.css?v=${createHash('sha256').update(stylesheet).digest('hex').slice(0, 12)}`;

/** In place of those of other answers. */
const securityHeaders = {
  'content-security-policy':
    "default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'referrer-policy': 'same-origin',
};

export type Page = {
  title: string;
  /** For search engines and link previews. */
  description: string;
  /** The content of `<main>`: HTML whose values are escaped already. */
  main: string;
};

/**
 * Answers with a page.
 *
 * @param reply - the reply to send it with
 * @param page - title and description as text, `main` as HTML
 */
export function sendPage(reply: FastifyReply, { description, main, title }: Page): FastifyReply {
  const document = html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title}</title>
<meta name="description" content="${description}">
<meta name="color-scheme" content="light dark">
<link rel="stylesheet" href="${stylesheetUrl}">
</head>
<body>
<header>
<a class="brand" href="/">Parley</a>
<a href="/docs">Guides</a>
<a href="/openapi.json">openapi.json</a>
</header>
<main>
!${main}
</main>
<footer>Parley ${version}</footer>
</body>
</html>
`;
  return reply.headers(securityHeaders).type('text/html; charset=utf-8').send(document);
}
