/** The frame of every plain page: one stylesheet and one optional script, with no external resources. */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { html } from 'ghtml';
import { projectRoot, version } from '../project.ts';

const sha256 = (text: string) => createHash('sha256').update(text);

/** A file that pages load. Its address changes with its content, so browsers may cache it. */
export function pageFile(name: string, type: string) {
  const content = readFileSync(new URL(`src/docs/${name}`, projectRoot), 'utf8');
  const path = `/assets/${name}`;
  return { content, path, type, url: `${path}?v=${sha256(content).digest('hex').slice(0, 12)}` };
}

const stylesheet = pageFile('page.css', 'text/css; charset=utf-8');
const script = pageFile('page.js', 'text/javascript; charset=utf-8');

export const pageFiles = [stylesheet, script];

/** The policy allows only this script. */
const scriptHash = `sha256-${sha256(script.content).digest('base64')}`;

const securityHeaders = {
  'content-security-policy': `default-src 'none'; script-src '${scriptHash}'; style-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'`,
  'referrer-policy': 'same-origin',
};

export type Page = {
  title: string;
  /** For search engines and link previews. */
  description: string;
  /** HTML of `<main>`, with all values already escaped. */
  main: string;
};

/** Whether a browser opened the address and expects a page. */
export const wantsPage = ({ headers, method }: FastifyRequest): boolean =>
  (method === 'GET' || method === 'HEAD') && /\btext\/html\b/i.test(headers.accept ?? '');

/** Whether a URL belongs to the API, which never sends pages. */
export const isApiPath = (url: string): boolean => /^\/api(?:[/?]|$)/.test(url);

/** Sends a page. Title and description are text, `main` is HTML. */
export function sendPage(reply: FastifyReply, { description, main, title }: Page): FastifyReply {
  const document = html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title}</title>
<meta name="description" content="${description}">
<meta name="color-scheme" content="light dark">
<link rel="stylesheet" href="${stylesheet.url}">
<script src="${script.url}" integrity="${scriptHash}" defer></script>
</head>
<body>
<header>
<a class="brand" href="/">Parley</a>
<a href="/docs/guides">Guides</a>
<a href="/docs">API reference</a>
<a href="/docs/try">Try it</a>
<a href="/docs/errors">Errors</a>
<a href="/docs/search">Search</a>
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
