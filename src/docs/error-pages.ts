/** A page for each error code, to which `error.docs` links, and a list of the pages. */
import { STATUS_CODES } from 'node:http';
import { html } from 'ghtml';
import { type ErrorCode, errorCodes, errorTable } from '../../schemas/errors.ts';
import { errorUrl } from '../errors.ts';
import { operationsOf } from './api-document.ts';
import { type Guide, guideUrl, resolveLink } from './guides.ts';
import type { Page } from './layout.ts';
import { markdownPage } from './markdown-pages.ts';
import { neighborLinks } from './pager.ts';
import { operationUrl } from './reference.ts';

/** The guide that has a section for each code. */
const GUIDE = 'errors';

function raisedBy(document: object, code: ErrorCode) {
  const status = String(errorTable[code].status);
  return operationsOf(document).filter(({ responses }) => {
    const text = JSON.stringify(responses[status] ?? '');
    return text.includes(`\`${code}\``) || text.includes(`"${code}"`);
  });
}

function operationList(document: object, code: ErrorCode): string {
  const operations = raisedBy(document, code);
  if (operations.length === 0)
    return 'No specific operation. The service returns it for requests that match no operation, such as an unsupported method.';
  return operations
    .map(
      (operation) =>
        `- [\`${operation.method} ${operation.path}\`](${operationUrl(operation)}) ${operation.summary}`,
    )
    .join('\n');
}

/** Converts links of the guide to paths that work on any page. */
const withPaths = (markdown: string) =>
  markdown.replace(/(?<=\]\()[^)\s]+(?=\))/g, (href) => resolveLink(href, GUIDE));

/**
 * `/docs/errors/CODE`: the meaning of the code, the fix, and the operations that return it.
 *
 * @param guides - must include the guide with a section for each code
 */
export function errorMarkdown(guides: readonly Guide[], document: object, code: ErrorCode): string {
  const { message, status, type } = errorTable[code];
  const guide = guides.find(({ slug }) => slug === GUIDE);
  const section = guide?.sections.find(({ heading }) => heading === code);
  return [
    `# ${code}`,
    message,
    `- Status: ${status} ${STATUS_CODES[status]}\n- \`error.type\`: \`${type}\``,
    ...(section ? ['## Meaning and fix', withPaths(section.markdown)] : []),
    '## Operations that return this error',
    operationList(document, code),
  ].join('\n\n');
}

const link = (code: ErrorCode | undefined) => code && { href: errorUrl('', code), title: code };

/** @param markdown - the result of `errorMarkdown` */
export function errorCodePage(code: ErrorCode, markdown: string, publicUrl: string): Page {
  const position = errorCodes.indexOf(code);
  const more = html`<p><a href="/docs/errors">All errors</a> · <a href="${guideUrl('', GUIDE)}">Error format and how to handle errors</a></p>
`;
  const neighbors = neighborLinks('Errors', link(errorCodes[position - 1]), link(errorCodes[position + 1]));
  return markdownPage(errorUrl('', code), markdown, publicUrl, more + neighbors);
}

/** The Markdown of `/docs/errors`. */
export const errorIndexMarkdown = (): string =>
  [
    '# Errors',
    'Every error code of the API, with its status, meaning, and fix.',
    `Every error has one of these codes, and a link to its page in \`docs\`. The [errors guide](${guideUrl('', GUIDE)}) explains the format and how to handle errors.`,
    [
      '| Status | Code | Message |',
      '|---|---|---|',
      ...errorCodes.map((code) => {
        const { message, status } = errorTable[code];
        return `| ${status} | [${code}](${errorUrl('', code)}) | ${message.replaceAll('|', '\\|')} |`;
      }),
    ].join('\n'),
  ].join('\n\n');
