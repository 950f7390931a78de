/** The documentation as Markdown, for coding agents (llmstxt.org). Contract section 1. */
import { setImmediate } from 'node:timers/promises';
import { errorCodes, errorTable } from '../../schemas/errors.ts';
import { errorUrl } from '../errors.ts';
import { withCodeSamples } from './code-samples.ts';
import { errorIndexMarkdown } from './error-pages.ts';
import { type Guide, groupOf, guideGroups, guides, guideUrl, withOwnOrigin } from './guides.ts';
import { markdownUrl, withMarkdownLinks } from './markdown-pages.ts';
import { operationMarkdown } from './operation-markdown.ts';
import { operationUrl } from './reference.ts';
import { referenceOrder } from './reference-pages.ts';
import { documentWithOwnModels, type OwnModels, withOwnModels } from './sample-models.ts';

const SUMMARY =
  'Chat, images, search, and embeddings behind one HTTP API, with API keys, scopes, and one exact daily quota. Compatible with the clients of OpenAI and Anthropic.';

/** A guide in Markdown, with this service's origin and models in its examples. */
export const guideMarkdown = (guide: Guide, publicUrl: string, models: OwnModels): string =>
  withOwnModels(withOwnOrigin(guide.markdown, publicUrl), models);

const guideLine = ({ slug, summary, title }: Guide, publicUrl: string) =>
  `- [${title}](${markdownUrl(guideUrl(publicUrl, slug))}): ${withOwnOrigin(summary, publicUrl)}`;

/** `/llms.txt`: the list of all documentation. */
export function llmsIndex(publicUrl: string, document: object): string {
  const groups = guideGroups.map((group) => {
    const lines = guides().flatMap((guide) => (groupOf(guide) === group ? guideLine(guide, publicUrl) : []));
    return `## ${group}\n\n${lines.join('\n')}\n`;
  });
  const operations = referenceOrder(document).map(
    (operation) =>
      `- [${operation.summary}](${publicUrl}${markdownUrl(operationUrl(operation))}): \`${operation.method} ${operation.path}\``,
  );
  const errors = errorCodes.map(
    (code) => `- [${code}](${markdownUrl(errorUrl(publicUrl, code))}): ${errorTable[code].message}`,
  );
  return [
    `# Parley\n\n> ${SUMMARY}\n`,
    ...groups,
    '## API reference\n',
    `- [OpenAPI document](${publicUrl}/openapi.json): every operation, with examples and errors`,
    `- [All operations](${publicUrl}${markdownUrl('/docs')}): the list, with a page for each`,
    `- [Everything in one file](${publicUrl}/llms-full.txt): guides, operations, and errors`,
    ...operations,
    '\n## Errors\n',
    `- [All errors](${publicUrl}${markdownUrl('/docs/errors')}): the table of codes`,
    ...errors,
    '',
  ].join('\n');
}

function* fullPages(publicUrl: string, document: object, models: OwnModels): Iterable<string> {
  for (const guide of guides())
    yield guideMarkdown(guide, publicUrl, models).replace(
      /(?<=\]\()(?:\.\/)?([\w-]+)\.md(?=[#)])/g,
      (_, slug: string) => markdownUrl(guideUrl('', slug)),
    );
  const sampled = withCodeSamples(documentWithOwnModels(document, models), publicUrl);
  for (const operation of referenceOrder(sampled)) yield operationMarkdown(sampled, operation);
  // The errors guide explains each code, and operations list their errors, so error pages are omitted.
  yield errorIndexMarkdown();
}

/** `/llms-full.txt`: all guides, operations, and errors. Takes a turn of the event loop for each: cache the result. */
export async function llmsFull(publicUrl: string, document: object, models: OwnModels): Promise<string> {
  const pages: string[] = [];
  for (const page of fullPages(publicUrl, document, models)) {
    pages.push(
      withMarkdownLinks(page)
        .replace(/(?<=\]\()(?=\/)/g, publicUrl)
        .trimEnd(),
    );
    await setImmediate();
  }
  return pages.join('\n\n');
}
