/** The frame of all plain pages: styles and optional scripts, without external resources. */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { html } from 'ghtml';
import { docsSections, drawings, type SectionName, sections } from '../dashboard/sections.ts';
import en from '../dashboard/texts/en.ts';
import { projectRoot, version } from '../project.ts';
import { iconLink, sharedStyles } from './dashboard-assets.ts';
import { SEARCH_PATH, searchForm } from './search-form.ts';

/** A file that pages load. Its URL changes with its content, so browsers may cache it. */
export function pageFile(name: string, type: string, before = '') {
  const content = before + readFileSync(new URL(`src/docs/${name}`, projectRoot), 'utf8');
  const path = `/assets/${name}`;
  return {
    content,
    path,
    type,
    url: `${path}?v=${createHash('sha256').update(content).digest('hex').slice(0, 12)}`,
  };
}

const frameStyles = pageFile('frame.css', 'text/css; charset=utf-8', sharedStyles);
const stylesheet = pageFile('page.css', 'text/css; charset=utf-8');
const sideStyles = pageFile('side.css', 'text/css; charset=utf-8');
const frameScript = pageFile('frame.js', 'text/javascript; charset=utf-8');
const script = pageFile('page.js', 'text/javascript; charset=utf-8');

export const pageFiles = [frameStyles, stylesheet, sideStyles, frameScript, script];

/**
 * Only pages that copy their Markdown may fetch from this origin. Hashes of both scripts would be stricter, but WebKit
 * reports violations: it preloads scripts without `integrity` (https://bugs.webkit.org/show_bug.cgi?id=305461).
 */
const securityHeaders = (copiesMarkdown: boolean) => ({
  'content-security-policy': `default-src 'none'; script-src 'self'; style-src 'self'; font-src 'self'; img-src 'self'; ${copiesMarkdown ? "connect-src 'self'; " : ''}base-uri 'none'; form-action 'self'; frame-ancestors 'none'`,
  'referrer-policy': 'same-origin',
});

/** HTML for `<head>`. The script is not deferred, so that no other theme flashes. */
export const frameHead = html`!${iconLink}
<link rel="stylesheet" href="${frameStyles.url}">
<script src="${frameScript.url}"></script>`;

const icon = (theme: string, drawing: string) =>
  html`<svg class="${theme}" width="20" height="20" viewBox="0 0 24 24" aria-hidden="true">!${drawing}</svg>`;

/** Icons for themes, as in the dashboard. */
const themeIcons = [
  icon('auto', '<rect x="3" y="4" width="18" height="12" rx="2"/><path d="M9 20h6M12 16v4"/>'),
  icon(
    'light',
    '<circle cx="12" cy="12" r="4"/><path d="M12 3v1.5M12 19.5V21M3 12h1.5M19.5 12H21M5.6 5.6l1.1 1.1M17.3 17.3l1.1 1.1M18.4 5.6l-1.1 1.1M6.7 17.3l-1.1 1.1"/>',
  ),
  icon('dark', '<path d="M20 14.5A8.5 8.5 0 0 1 9.5 4a8.5 8.5 0 1 0 10.5 10.5z"/>'),
];

const nameOf = (section: SectionName): string => en.shell.nav[section];

const links: Record<string, string> = {
  ...Object.fromEntries(docsSections.map(({ name, path }) => [path, nameOf(name)])),
  '/docs/try': 'Try it',
  '/docs/errors': 'Errors',
};

/** The sections of the dashboard. `frame.js` shows them to signed-in readers. */
const sectionLinks = sections.map(
  ({ name, path, ...rest }) =>
    html`<a class="${name}${'isForOperators' in rest ? ' for-operators' : ''}" href="${path}"><svg width="20" height="20" viewBox="0 0 24 24" aria-hidden="true"><path d="${drawings[name]}"/></svg>${nameOf(name)}</a>
`,
);

/** The longest path in the header that is a prefix of the page's path. */
const partOf = (path: string): string | undefined =>
  [...Object.keys(links), SEARCH_PATH]
    .filter((part) => `${path}/`.startsWith(`${part}/`))
    .sort((one, other) => other.length - one.length)[0];

const currentMark = (isPage: boolean) => ` aria-current="${isPage ? 'page' : 'true'}"`;

/**
 * The header of every page. It marks the current part, and includes the search field, except on the search page.
 *
 * @param current - the path of the page
 */
export const frameHeader = (current: string) => html`<header class="frame" data-scalar-scroll-header>
<a class="brand" href="/"><svg width="28" height="28" viewBox="0 0 32 32" aria-hidden="true"><path d="M8 3h16a6 6 0 0 1 6 6v9a6 6 0 0 1-6 6H14l-6.3 5.2A1 1 0 0 1 6 28.4V23.7A6 6 0 0 1 2 18V9a6 6 0 0 1 6-6z"/><path class="lines" d="M9.5 11h13M9.5 16h8"/></svg>Parley</a>
<nav class="sections" aria-label="Dashboard">
!${sectionLinks}</nav>
<nav class="docs" aria-label="Documentation">
!${Object.entries(links).map(
  ([path, name]) =>
    html`<a href="${path}"!${path === partOf(current) ? currentMark(path === current) : ''}>${name}</a>
`,
)}</nav>
!${current === SEARCH_PATH ? '' : searchForm({ placeholder: 'Search', after: '<kbd>/</kbd>' })}<a class="sign-in" href="/sign-in">Sign in</a>
<button type="button" class="theme" aria-label="Theme">!${themeIcons}</button>
</header>`;

export type Page = {
  title: string;
  /** Shown by search engines and link previews. */
  description: string;
  /** HTML of `<main>`, with all values escaped. */
  main: string;
  /** Whether `main` contains `markdownLinks`. */
  copiesMarkdown?: boolean;
  /** HTML of `sideList` and `outline`. */
  beside?: { list: string; outline: string };
};

/** A button that copies the Markdown at a URL, and a link to it. `page.js` implements the button. */
export const markdownLinks = (url: string): string =>
  html`<button type="button" class="copy-page" data-markdown="${url}">Copy page as Markdown</button> <a href="${url}">View as Markdown</a>`;

/** Whether a browser opened the URL and expects a page. */
export const wantsPage = ({ headers, method }: FastifyRequest): boolean =>
  (method === 'GET' || method === 'HEAD') && /\btext\/html\b/i.test(headers.accept ?? '');

/** Whether a URL belongs to the API, which never sends pages. */
export const isApiPath = (url: string): boolean => /^\/api(?:[/?]|$)/.test(url);

/** Sends a page. Title and description are text, and `main` is HTML. */
export function sendPage(
  reply: FastifyReply,
  { beside, copiesMarkdown = false, description, main, title }: Page,
): FastifyReply {
  const document = html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title}</title>
<meta name="description" content="${description}">
<meta name="color-scheme" content="light dark">
!${frameHead}
<link rel="stylesheet" href="${stylesheet.url}">
!${beside ? html`<link rel="stylesheet" href="${sideStyles.url}">` : ''}
<script src="${script.url}" defer></script>
</head>
<body>
<a class="skip" href="#main">Skip to main content</a>
!${frameHeader(reply.request.url.replace(/\?.*/, ''))}
<div!${beside ? ' class="columns"' : ''}>
!${beside?.list ?? ''}<main id="main" tabindex="-1">
!${main}
</main>
!${beside?.outline ?? ''}<footer>Parley ${version} · <a href="/openapi.json">openapi.json</a></footer>
</div>
</body>
</html>
`;
  return reply.headers(securityHeaders(copiesMarkdown)).type('text/html; charset=utf-8').send(document);
}
