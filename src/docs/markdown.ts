/** Renders guides as HTML, with this service's anchors and links. Escapes HTML in the Markdown. */
import { html } from 'ghtml';
import { Marked, type Token, type Tokens } from 'marked';
import { anchorMaker, type Guide, inlineText, resolveLink, withOwnOrigin } from './guides.ts';

/** Scrollable content must be reachable by keyboard. */
const scrollable = (table: string) =>
  html`<div class="scroll" role="group" aria-label="Table" tabindex="0">!${table}</div>`;

const sampleLanguages = { curl: 'curl', javascript: 'JavaScript', python: 'Python', sdk: 'SDK' } as const;
type SampleLanguage = keyof typeof sampleLanguages;

const ofFence: Record<string, SampleLanguage> = {
  bash: 'curl',
  js: 'javascript',
  ts: 'javascript',
  python: 'python',
};

function sampleLanguage(token: Token): SampleLanguage | undefined {
  if (token.type !== 'code') return undefined;
  const language = ofFence[token.lang ?? ''];
  return language === 'javascript' && token.text.includes("'parley-sdk'") ? 'sdk' : language;
}

/** Joins consecutive code blocks in different languages: they show the same call, and a reader needs one of them. */
function withSamples(tokens: readonly Token[]): Token[] {
  const joined: Token[] = [];
  let blocks: Tokens.Code[] = [];
  const flush = () => {
    const [first] = blocks;
    if (first === undefined) return;
    joined.push(blocks.length === 1 ? first : { type: 'samples', raw: '', blocks });
    blocks = [];
  };
  for (const token of tokens) {
    const language = sampleLanguage(token);
    const continues = blocks.length > 0 && token.type === 'space';
    if (language === undefined && !continues) flush();
    if (language === undefined) {
      if (!continues) joined.push(token);
      continue;
    }
    if (blocks.some((block) => sampleLanguage(block) === language)) flush();
    blocks.push(token as Tokens.Code);
  }
  flush();
  return joined;
}

/** Placeholder on a page before the first sample that needs a key. Text is escaped, so no guide can contain it. */
export const KEY_NOTE_MARK = '<!-- key -->';

/** Placeholder at the start of each sample that needs a key, with the comment marker of the language. */
const keyCommentMark = (sign: string) => `<!-- key ${sign} -->`;
export const KEY_COMMENT_MARKS = new RegExp(keyCommentMark('(\\S+)'), 'g');

const commentSigns: Record<SampleLanguage, string> = { curl: '#', javascript: '//', python: '#', sdk: '//' };

/** Whether a sample expects `PARLEY_KEY` to be set. */
const readsKey = ({ text }: Tokens.Code) => text.includes('PARLEY_KEY') && !text.includes('PARLEY_KEY=');

function codeBlock(block: Tokens.Code): string {
  const language = sampleLanguage(block);
  const mark = language && readsKey(block) ? keyCommentMark(commentSigns[language]) : '';
  return html`<pre tabindex="0"><code>!${mark}${block.text}</code></pre>`;
}

/** Without scripts, all samples show. `page.js` turns them into tabs. */
const samplesHtml = (blocks: readonly Tokens.Code[]) => html`<div class="samples">
!${blocks.map((block) => {
  const language = sampleLanguage(block) ?? 'curl';
  return html`<div class="sample" data-language="${language}"><p class="language">${sampleLanguages[language]}</p>!${codeBlock(block)}</div>
`;
})}</div>
`;

/** Use one renderer per document: it creates unique anchors, and marks the first sample that needs a key. */
function markdownOf(slug: string): Marked {
  const anchorOf = anchorMaker();
  let isMarked = false;
  const mark = (...blocks: Tokens.Code[]): string => {
    if (isMarked || !blocks.some(readsKey)) return '';
    isMarked = true;
    return KEY_NOTE_MARK;
  };
  const marked = new Marked();
  marked.use({
    extensions: [{ name: 'samples', renderer: ({ blocks }) => mark(...blocks) + samplesHtml(blocks) }],
    renderer: {
      heading({ depth, tokens }: Tokens.Heading) {
        const anchor = anchorOf(inlineText(tokens));
        if (depth === 1) return html`<h1>!${this.parser.parseInline(tokens)}</h1>`;
        return html`<h${depth} id="${anchor}"><a href="#${anchor}">!${this.parser.parseInline(tokens)}</a></h${depth}>`;
      },
      link({ href, tokens }: Tokens.Link) {
        return html`<a href="${resolveLink(href, slug)}">!${this.parser.parseInline(tokens)}</a>`;
      },
      code: (block: Tokens.Code) => mark(block) + codeBlock(block),
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

/** Renders a guide in two parts: its title with summary, and its sections. Examples call `publicUrl`. */
export function guideHtml(guide: Guide, publicUrl: string): { opening: string; sections: string } {
  const marked = markdownOf(guide.slug);
  const tokens = withSamples(marked.lexer(withOwnOrigin(guide.markdown, publicUrl)));
  const first = tokens.findIndex((token) => token.type === 'heading' && token.depth === 2);
  const end = first === -1 ? tokens.length : first;
  return { opening: marked.parser(tokens.slice(0, end)), sections: marked.parser(tokens.slice(end)) };
}

/** Allows line breaks after punctuation in table names of at least `least` characters. */
export const withBreaks = (page: string, least: number): string =>
  page.replace(/<table>.*<\/table>/g, (table) =>
    table.replace(new RegExp(`<code>(?:&quot;)?[^<&]{${least},}`, 'g'), (name) =>
      name.replace(/[._/](?=\w)/g, '$&<wbr>'),
    ),
  );
