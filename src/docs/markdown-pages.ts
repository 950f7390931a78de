/** Pages that are drawn from their Markdown, which coding agents read at the same address with `.md`. */
import type { FastifyReply } from 'fastify';
import { html } from 'ghtml';
import { parseGuide } from './guides.ts';
import { markdownLinks, type Page } from './layout.ts';
import { guideHtml } from './markdown.ts';

const SUFFIX = '.md';

/** Whether the last part of an address asks for Markdown, and of what. */
export function requestedPage(last: string): { isMarkdown: boolean; name: string } {
  const isMarkdown = last.endsWith(SUFFIX);
  return { isMarkdown, name: isMarkdown ? last.slice(0, -SUFFIX.length) : last };
}

export const markdownUrl = (path: string): string => `${path}${SUFFIX}`;

/** A page of the documentation that exists as Markdown. */
const pageLink = /(?<=\]\()(\/docs(?:\/(?:guides|errors)(?:\/[\w-]+)?|\/api\/\w+)?)(?=[#)])/g;

/** Leads from Markdown to Markdown. */
export const withMarkdownLinks = (markdown: string): string =>
  markdown.replace(pageLink, (path) => markdownUrl(path));

export const sendMarkdown = (reply: FastifyReply, markdown: string): FastifyReply =>
  reply.type('text/markdown; charset=utf-8').send(withMarkdownLinks(markdown));

/**
 * @param path - the address of the page
 * @param markdown - begins with a title and a paragraph
 * @param after - HTML
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
