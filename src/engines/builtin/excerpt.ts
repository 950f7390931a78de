import { marked, type Token } from 'marked';
import { resolveLink, type Section, withOwnOrigin } from '../../docs/guides.ts';

/** Approximate length in characters. The block that exceeds it is the last. */
const EXCERPT_LENGTH = 1400;

const askedBy: Record<string, RegExp> = {
  python: /\b(python|django|flask|fastapi)\b/i,
  js: /\b(javascript|js|typescript|node(\.?js)?|fetch|react)\b/i,
  bash: /\b(curl|bash|shell|terminal)\b/i,
};

const isExample = (token: Token | undefined) => token?.type === 'code' && (token.lang ?? '') in askedBy;

/** Of adjacent examples, keeps the one in the requested language, or the first. */
function withoutOtherLanguages(blocks: readonly Token[], question: string): Token[] {
  const kept: Token[] = [];
  for (let index = 0; index < blocks.length; ) {
    let end = index;
    while (isExample(blocks[end])) end++;
    const examples = blocks.slice(index, end);
    const asked = examples.find((example) => 'lang' in example && askedBy[example.lang]?.test(question));
    const block = asked ?? blocks[index];
    if (block) kept.push(block);
    index = Math.max(end, index + 1);
  }
  return kept;
}

function blockMarkdown(block: Token, slug: string, publicUrl: string): string {
  const markdown = withOwnOrigin(block.raw.trim(), publicUrl);
  if (block.type === 'code') return markdown;
  return markdown.replace(
    /\]\(([^()\s]+)\)/g,
    (_, href: string) => `](${resolveLink(href, slug, publicUrl)})`,
  );
}

/** Cuts a section to Markdown blocks from its beginning, with one example in the language of the question. */
export function excerpt(
  section: Section,
  slug: string,
  question: string,
  publicUrl: string,
): { markdown: string; isCut: boolean } {
  const blocks = marked.lexer(section.markdown).filter(({ type }) => type !== 'space');
  const kept: string[] = [];
  let length = 0;
  for (const block of withoutOtherLanguages(blocks, question)) {
    // Check the length before adding a block: a paragraph that announces an example needs the example.
    if (length > EXCERPT_LENGTH) break;
    kept.push(blockMarkdown(block, slug, publicUrl));
    length += block.raw.length;
  }
  return { markdown: kept.join('\n\n'), isCut: kept.length < blocks.length };
}
