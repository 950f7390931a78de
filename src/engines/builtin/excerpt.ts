import { marked, type Token } from 'marked';
import { resolveLink, type Section, withOwnOrigin } from '../../docs/guides.ts';
import type { SectionEntry } from '../../docs/search-entries.ts';

/** Approximate length in characters. The excerpt ends with the block that exceeds it. */
const EXCERPT_LENGTH = 1400;

const languagePatterns: Record<string, RegExp> = {
  python: /\b(python|django|flask|fastapi)\b/i,
  js: /\b(javascript|js|typescript|node(\.?js)?|fetch|react)\b/i,
  bash: /\b(curl|bash|shell|terminal)\b/i,
};

const isExample = (token: Token | undefined) =>
  token?.type === 'code' && (token.lang ?? '') in languagePatterns;

const languagesIn = (question: string): string[] =>
  Object.entries(languagePatterns).flatMap(([language, pattern]) =>
    pattern.test(question) ? [language] : [],
  );

/** For adjacent examples, keeps the one in a requested language, or the first. */
function withoutOtherLanguages(blocks: readonly Token[], requested: readonly string[]): Token[] {
  const kept: Token[] = [];
  for (let index = 0; index < blocks.length; ) {
    let end = index;
    while (isExample(blocks[end])) end++;
    const examples = blocks.slice(index, end);
    const preferred = examples.find((example) => 'lang' in example && requested.includes(example.lang));
    const block = preferred ?? blocks[index];
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

type Excerpt = { markdown: string; isCut: boolean };

function cut({ guide, section }: SectionEntry, requested: readonly string[], publicUrl: string): Excerpt {
  const blocks = marked.lexer(section.markdown).filter(({ type }) => type !== 'space');
  const quoted: string[] = [];
  let length = 0;
  for (const block of withoutOtherLanguages(blocks, requested)) {
    // Check the length before adding a block, so that a paragraph that introduces an example keeps the example.
    if (length > EXCERPT_LENGTH) break;
    quoted.push(blockMarkdown(block, guide.slug, publicUrl));
    length += block.raw.length;
  }
  return { markdown: quoted.join('\n\n'), isCut: quoted.length < blocks.length };
}

/** Cached excerpts by section, then by languages and URL. */
const kept = new WeakMap<Section, Map<string, Excerpt>>();

/** Shortens a section to its first Markdown blocks, with one example in a language that the question names. */
export function excerpt(entry: SectionEntry, question: string, publicUrl: string): Excerpt {
  const requested = languagesIn(question);
  const name = [...requested, publicUrl].join(' ');
  const excerpts = kept.get(entry.section) ?? new Map<string, Excerpt>();
  kept.set(entry.section, excerpts);
  const known = excerpts.get(name) ?? cut(entry, requested, publicUrl);
  excerpts.set(name, known);
  return known;
}
