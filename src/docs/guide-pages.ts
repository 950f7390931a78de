/** The list of guides, and a page for each guide. */
import { html } from 'ghtml';
import { withAllLanguages } from './guide-samples.ts';
import { type Guide, groupOf, guideGroups, guides, guideUrl, withOwnOrigin } from './guides.ts';
import { markdownLinks, type Page } from './layout.ts';
import { guideHtml, withBreaks } from './markdown.ts';
import { markdownUrl } from './markdown-pages.ts';
import { neighborLinks } from './pager.ts';
import { contents, outline, sideList } from './side.ts';

/** Width of a table column on a phone, in characters. */
const COLUMN_WIDTH = 12;

const toLink = ({ slug, title }: Guide) => ({ href: guideUrl('', slug), title });
const link = (guide: Guide | undefined) => guide && toLink(guide);

const ofGroup = (group: string) => guides().filter((guide) => groupOf(guide) === group);

/** The Markdown of `/docs/guides`. */
export const guideIndexMarkdown = (publicUrl: string): string =>
  [
    '# Guides',
    'How to use the API and how to run the service.',
    'See also the [API reference](/docs), its source [openapi.json](/openapi.json), and the [error codes](/docs/errors).',
    ...guideGroups.flatMap((group) => [
      `## ${group}`,
      ofGroup(group)
        .map(
          ({ slug, summary, title }) =>
            `- [${title}](${guideUrl('', slug)}): ${withOwnOrigin(summary, publicUrl)}`,
        )
        .join('\n'),
    ]),
  ].join('\n\n');

/**
 * The page `/docs/guides/SLUG`.
 *
 * @param markdown - the guide with this service's origin and models
 * @param document - the OpenAPI document of the operations that samples call
 */
export function guidePage(guide: Guide, markdown: string, publicUrl: string, document: object): Page {
  const all = guides();
  const position = all.indexOf(guide);
  const path = guideUrl('', guide.slug);
  const { opening, sections } = guideHtml(
    { ...guide, markdown: withAllLanguages(markdown, document) },
    publicUrl,
  );
  const neighbors = neighborLinks('Guides', link(all[position - 1]), link(all[position + 1]));
  const groups = guideGroups.map((name) => ({ name, links: ofGroup(name).map(toLink) }));
  return {
    title: `${guide.title} · Parley`,
    description: guide.summary,
    main:
      opening +
      html`<p class="source">!${markdownLinks(markdownUrl(path))}</p>
` +
      contents(guide.sections) +
      withBreaks(sections, COLUMN_WIDTH) +
      neighbors,
    copiesMarkdown: true,
    beside: { list: sideList('All guides', groups, path), outline: outline(guide.sections) },
  };
}
