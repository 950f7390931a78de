/** Renders guides as HTML, with this service's anchors and links. HTML in the Markdown is escaped. */
import { html } from 'ghtml';
import { Marked, type Tokens } from 'marked';
import { anchorMaker, type Guide, inlineText, resolveLink, type Section, withOwnOrigin } from './guides.ts';

/** Scrollable content must be reachable by keyboard. */
const scrollable = (table: string) =>
  html`<div class="scroll" role="group" aria-label="Table" tabindex="0">!${table}</div>`;

/** Use one renderer per document, because it makes the headings' anchors unique. */
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
        // The empty corner of a two-way table is not a heading.
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

/** Renders a guide as its title with summary, and its sections. Examples call `publicUrl`. */
export function guideHtml(guide: Guide, publicUrl: string): { opening: string; sections: string } {
  const marked = markdownOf(guide.slug);
  const tokens = marked.lexer(withOwnOrigin(guide.markdown, publicUrl));
  const first = tokens.findIndex((token) => token.type === 'heading' && token.depth === 2);
  const end = first === -1 ? tokens.length : first;
  return { opening: marked.parser(tokens.slice(0, end)), sections: marked.parser(tokens.slice(end)) };
}

export const sectionHtml = (guide: Guide, section: Section, publicUrl: string): string =>
  markdownOf(guide.slug).parse(withOwnOrigin(section.markdown, publicUrl), { async: false });

export const inlineHtml = (text: string): string => markdownOf('').parseInline(text, { async: false });
