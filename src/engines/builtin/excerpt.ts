/** A section of a guide, cut to what helps as an answer. */
import { marked, type Token } from 'marked';
import { resolveLink, type Section, withOwnOrigin } from '../../docs/guides.ts';

/** About how long an excerpt is, in characters; the block that passes it is the last. */
const EXCERPT_LENGTH = 1400;

/** Languages in which the guides show the same call. */
const askedBy: Record<string, RegExp> = {
  python: /\b(python|django|flask|fastapi)\b/i,
  js: /\b(javascript|js|typescript|node(\.?js)?|fetch|react)\b/i,
  bash: /\b(curl|bash|shell|terminal)\b/i,
};

const isExample = (token: Token | undefined) => token?.type === 'code' && (token.lang ?? '') in askedBy;

/** Keeps, of examples that stand side by side, the one in the language that was asked for, or the first. */
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

/**
 * Cuts a section: whole blocks from its beginning, one example where there are several, links made absolute.
 *
 * @param section - of the guide `slug`
 * @param question - decides the language of the examples
 * @returns Markdown, and whether anything was left out
 */
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
    // A paragraph that announces an example is worth nothing without it: look at the length before, not after.
    if (length > EXCERPT_LENGTH) break;
    kept.push(blockMarkdown(block, slug, publicUrl));
    length += block.raw.length;
  }
  return { markdown: kept.join('\n\n'), isCut: kept.length < blocks.length };
}
