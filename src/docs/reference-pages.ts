/** The API reference, rendered on the server: a list of all operations, and a page for each. Decision 0028. */
import { html } from 'ghtml';
import { type Operation, operationsOf, type Tag, tagsOf } from './api-document.ts';
import { parseGuide } from './guides.ts';
import { markdownLinks, type Page } from './layout.ts';
import { guideHtml, withBreaks } from './markdown.ts';
import { markdownUrl } from './markdown-pages.ts';
import { operationMarkdown } from './operation-markdown.ts';
import { neighborLinks } from './pager.ts';
import { operationUrl, tryUrl } from './reference.ts';
import { outline, sideList } from './side.ts';

/** Width of a table column, in characters. */
const COLUMN_WIDTH = 21;

const titleOf = ({ summary }: Operation) => `${summary} · Parley API`;

const byTag = (document: object): [tag: Tag, operations: Operation[]][] => {
  const all = operationsOf(document);
  return tagsOf(document).map((tag) => [tag, all.filter((operation) => operation.tag === tag.name)]);
};

/** Operations in the order of the list. */
export const referenceOrder = (document: object): Operation[] =>
  byTag(document).flatMap(([, operations]) => operations);

/** The Markdown of `/docs`. */
export const referenceIndexMarkdown = (document: object): string =>
  [
    '# API reference',
    'Every operation under `/api/v1`, with its fields, errors, and samples.',
    `To send requests from this browser, use the [interactive reference](${tryUrl()}). Generators read [openapi.json](/openapi.json).`,
    ...byTag(document).flatMap(([{ description, name }, operations]) => [
      `## ${name}`,
      description,
      operations
        .map(
          (operation) =>
            `- [${operation.summary}](${operationUrl(operation)}) \`${operation.method} ${operation.path}\``,
        )
        .join('\n'),
    ]),
  ].join('\n\n');

const toLink = (operation: Operation) => ({ href: operationUrl(operation), title: operation.summary });
const link = (operation: Operation | undefined) => operation && toLink(operation);

/**
 * The page `/docs/api/OPERATION`.
 *
 * @param document - the OpenAPI document with code samples that call this service
 */
export function operationPage(document: object, operation: Operation, publicUrl: string): Page {
  const all = referenceOrder(document);
  const position = all.findIndex(({ operationId }) => operationId === operation.operationId);
  const guide = parseGuide(operation.operationId, operationMarkdown(document, operation));
  const { opening, sections } = guideHtml(guide, publicUrl);
  const sources = html`<p class="source">!${markdownLinks(markdownUrl(operationUrl(operation)))} · <a href="${tryUrl(operation)}">Try it</a> · <a href="/docs#${operation.tag.toLowerCase()}">${operation.tag}</a></p>
`;
  const neighbors = neighborLinks('Operations', link(all[position - 1]), link(all[position + 1]));
  const groups = byTag(document).map(([{ name }, operations]) => ({ name, links: operations.map(toLink) }));
  return {
    title: titleOf(operation),
    description: guide.summary,
    copiesMarkdown: true,
    beside: {
      list: sideList('All operations', groups, operationUrl(operation)),
      outline: outline(guide.sections),
    },
    main: html`<div class="operation">!${opening}!${sources}!${withBreaks(sections, COLUMN_WIDTH)}</div>!${neighbors}`,
  };
}
