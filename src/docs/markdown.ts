/** Guides as HTML: the anchors and links that they have on this service, and no HTML but what Markdown makes. */
import { html } from 'ghtml';
import { Marked, type Tokens } from 'marked';
import { anchorMaker, type Guide, inlineText, resolveLink, type Section, withOwnOrigin } from './guides.ts';

/** What scrolls must be reachable by keyboard. */
const scrollable = (table: string) =>
  html`<div class="scroll" role="group" aria-label="Table" tabindex="0">!${table}</div>`;

/** Markdown of one guide: its links lead from there. One for each document, whose headings get an anchor each. */
function markdownOf(slug: string): Marked {
  const anchorOf = anchorMaker();
  const marked = new Marked();
  marked.use({
    renderer: {
      heading({ depth, tokens }: Tokens.Heading) {
        const anchor = anchorOf(inlineText(tokens));
        if (depth === 1) return html`<h1>!${this.parser.parseInline(tokens)}</h1>`;
        return html`<h${depth} id="${anchor}"><a href="#${anchor}">!${this.parser.parseInline(tokens)}</a></h${depth}>`;
      },
      link({ href, tokens }: Tokens.Link) {
        return html`<a href="${resolveLink(href, slug)}">!${this.parser.parseInline(tokens)}</a>`;
      },
      code({ text }: Tokens.Code) {
        return html`<pre tabindex="0"><code>${text}</code></pre>`;
      },
      html: ({ text }: Tokens.HTML | Tokens.Tag) => html`${text}`,
      table(token: Tokens.Table) {
        // The corner of a table with two headings is no heading itself.
        const cell = ({ header, text, tokens }: Tokens.TableCell) => {
          const tag = header && text !== '' ? 'th' : 'td';
          return html`<${tag}>!${this.parser.parseInline(tokens)}</${tag}>`;
        };
        const row = (cells: Tokens.TableCell[]) => html`<tr>!${cells.map(cell)}</tr>`;
        return scrollable(
          html`<table><thead>!${row(token.header)}</thead><tbody>!${token.rows.map(row)}</tbody></table>`,
        );
      },
    },
  });
  return marked;
}

/**
 * Renders a guide.
 *
 * @param guide - as it was read
 * @param publicUrl - where its examples call
 * @returns the title with the summary, and the sections
 */
export function guideHtml(guide: Guide, publicUrl: string): { opening: string; sections: string } {
  const marked = markdownOf(guide.slug);
  const tokens = marked.lexer(withOwnOrigin(guide.markdown, publicUrl));
  const first = tokens.findIndex((token) => token.type === 'heading' && token.depth === 2);
  const end = first === -1 ? tokens.length : first;
  return { opening: marked.parser(tokens.slice(0, end)), sections: marked.parser(tokens.slice(end)) };
}

/** Renders one section of a guide, without its heading. */
export const sectionHtml = (guide: Guide, section: Section, publicUrl: string): string =>
  markdownOf(guide.slug).parse(withOwnOrigin(section.markdown, publicUrl), { async: false });

/** Renders a sentence with Markdown in it. */
export const inlineHtml = (text: string): string => markdownOf('').parseInline(text, { async: false });
