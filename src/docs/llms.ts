/** The documentation as Markdown, for coding agents (llmstxt.org). Contract section 1. */

import { type Guide, groupOf, guideGroups, guides, guideUrl, withOwnOrigin } from './guides.ts';
import { type OwnModels, withOwnModels } from './own-models.ts';
import { operationUrl } from './reference.ts';
import { referenceOrder } from './reference-pages.ts';

const SUMMARY =
  'Chat, images, search, and embeddings behind one HTTP API, with API keys, scopes, and one exact daily quota. Compatible with the clients of OpenAI and Anthropic.';

const markdownUrl = (publicUrl: string, slug: string) => `${guideUrl(publicUrl, slug)}.md`;

/** A guide whose examples call this service and name its models. Its links lead to other guides as Markdown. */
export const guideMarkdown = (guide: Guide, publicUrl: string, models: OwnModels): string =>
  withOwnModels(withOwnOrigin(guide.markdown, publicUrl), models);

const lineOf = ({ slug, summary, title }: Guide, publicUrl: string) =>
  `- [${title}](${markdownUrl(publicUrl, slug)}): ${withOwnOrigin(summary, publicUrl)}`;

/** `/llms.txt`: what there is to read. */
export function llmsIndex(publicUrl: string, document: object): string {
  const groups = guideGroups.map((group) => {
    const lines = guides().flatMap((guide) => (groupOf(guide) === group ? lineOf(guide, publicUrl) : []));
    return `## ${group}\n\n${lines.join('\n')}\n`;
  });
  const operations = referenceOrder(document).map(
    (operation) =>
      `- [${operation.summary}](${publicUrl}${operationUrl(operation)}.md): \`${operation.method} ${operation.path}\``,
  );
  const reference = `## API reference\n\n- [OpenAPI document](${publicUrl}/openapi.json): every operation, with examples and errors\n- [All guides in one file](${publicUrl}/llms-full.txt)\n${operations.join('\n')}\n`;
  return [`# Parley\n\n> ${SUMMARY}\n`, ...groups, reference].join('\n');
}

/** `/llms-full.txt`: all guides, one after the other. */
export function llmsFull(publicUrl: string, models: OwnModels): string {
  const absolute = (markdown: string) =>
    markdown.replace(
      /\]\((?:\.\/)?([\w-]+)\.md(?=[#)])/g,
      (_, slug: string) => `](${markdownUrl(publicUrl, slug)}`,
    );
  return guides()
    .map((guide) => absolute(guideMarkdown(guide, publicUrl, models)).trimEnd())
    .join('\n\n');
}
