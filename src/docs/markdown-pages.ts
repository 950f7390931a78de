/** Pages rendered from Markdown. Coding agents read the Markdown at the same path with `.md`. */
import type { FastifyReply } from 'fastify';
import { html } from 'ghtml';
import { parseGuide } from './guides.ts';
import { markdownLinks, type Page } from './layout.ts';
import { guideHtml } from './markdown.ts';

const SUFFIX = '.md';

/** Splits the last part of a path into the page's name and whether it requests Markdown. */
export function requestedPage(last: string): { isMarkdown: boolean; name: string } {
  const isMarkdown = last.endsWith(SUFFIX);
  return { isMarkdown, name: isMarkdown ? last.slice(0, -SUFFIX.length) : last };
}

export const markdownUrl = (path: string): string => `${path}${SUFFIX}`;

/** Matches links to documentation pages that exist as Markdown. */
const pageLink = /(?<=\]\()(\/docs(?:\/(?:guides|errors)(?:\/[\w-]+)?|\/api\/\w+)?)(?=[#)])/g;

/** Makes links lead to the Markdown of pages. */
export const withMarkdownLinks = (markdown: string): string =>
  markdown.replace(pageLink, (path) => markdownUrl(path));

export const sendMarkdown = (reply: FastifyReply, markdown: string): FastifyReply =>
  reply.type('text/markdown; charset=utf-8').send(withMarkdownLinks(markdown));

/**
 * @param path - the path of the page
 * @param markdown - must begin with a title and a paragraph
 * @param after - HTML after the content
 */
export function markdownPage(path: string, markdown: string, publicUrl: string, after = ''): Page {
  const { summary, title, ...guide } = parseGuide(path, markdown);
  const { opening, sections } = guideHtml({ ...guide, summary, title }, publicUrl);
  return {
    title: `${title} · Parley`,
    description: summary,
    copiesMarkdown: true,
    main: html`!${opening}<p class="source">!${markdownLinks(markdownUrl(path))}</p>
!${sections}!${after}`,
  };
}
