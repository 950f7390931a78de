/** A page for each error code, the target of `error.docs`. */
import { STATUS_CODES } from 'node:http';
import { html } from 'ghtml';
import { type ErrorCode, errorCodes, errorTable } from '../../schemas/errors.ts';
import { errorUrl } from '../errors.ts';
import { operationsOf } from './api-document.ts';
import type { Guide } from './guides.ts';
import type { Page } from './layout.ts';
import { inlineHtml, sectionHtml } from './markdown.ts';
import { neighbourLinks } from './pager.ts';
import { operationUrl } from './reference.ts';

const statusOf = (code: ErrorCode) => `${errorTable[code].status} ${STATUS_CODES[errorTable[code].status]}`;

function raisedBy(document: object, code: ErrorCode) {
  const status = String(errorTable[code].status);
  return operationsOf(document).filter(({ responses }) => {
    const text = JSON.stringify(responses[status] ?? '');
    return text.includes(`\`${code}\``) || text.includes(`"${code}"`);
  });
}

function operationsHtml(document: object, code: ErrorCode): string {
  const operations = raisedBy(document, code);
  if (operations.length === 0)
    return html`<p>No specific operation. The service returns it for requests that match no operation, such as an unsupported method.</p>`;
  return html`<ul class="operations">
!${operations.map(
    (operation) =>
      html`<li><a href="${operationUrl(operation)}"><code>${operation.method} ${operation.path}</code></a> ${operation.summary}</li>
`,
  )}</ul>`;
}

const link = (code: ErrorCode | undefined) => code && { href: errorUrl('', code), title: code };

/** The pages by code. `guide` has a section for each code. Examples call `publicUrl`. */
export function errorPages(guide: Guide, document: object, publicUrl: string): Map<string, Page> {
  return new Map(
    errorCodes.map((code, position) => {
      const section = guide.sections.find(({ heading }) => heading === code);
      const { message, type } = errorTable[code];
      const main = html`<h1>${code}</h1>
<p>!${inlineHtml(message)}</p>
<dl class="facts">
<dt>Status</dt><dd>${statusOf(code)}</dd>
<dt><code>error.type</code></dt><dd><code>${type}</code></dd>
</dl>
!${section ? sectionHtml(guide, section, publicUrl) : ''}
<h2>Operations that return this error</h2>
!${operationsHtml(document, code)}
<p><a href="/docs/errors">All errors</a> · <a href="/docs/guides/errors">Error format and how to handle errors</a></p>
!${neighbourLinks('Errors', link(errorCodes[position - 1]), link(errorCodes[position + 1]))}`;
      return [code, { title: `${code} · Parley`, description: message, main }];
    }),
  );
}

export const errorIndex: Page = {
  title: 'Errors · Parley',
  description: 'Every error code of the API, with its status, meaning, and fix.',
  main: html`<h1>Errors</h1>
<p>Every error has one of these codes, and a link to its page in <code>docs</code>. The <a href="/docs/guides/errors">errors guide</a> explains the format and how to handle errors.</p>
<div class="scroll" role="group" aria-label="Error codes" tabindex="0"><table>
<thead><tr><th>Status</th><th>Code</th><th>Message</th></tr></thead>
<tbody>
!${errorCodes.map(
    (code) =>
      html`<tr><td>${errorTable[code].status}</td><td><a href="${errorUrl('', code)}">${code}</a></td><td>!${inlineHtml(errorTable[code].message)}</td></tr>
`,
  )}</tbody>
</table></div>
`,
};
