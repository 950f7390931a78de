/**
 * The guides: Markdown files in `docs/guides`, one summary paragraph and then sections. They are the pages under
 * `/docs/guides`, and, section by section, what the built-in engines search and answer from. Contract section 8.
 */
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { marked, type Token, type Tokens } from 'marked';
import { projectRoot } from '../project.ts';

export type Section = {
  heading: string;
  /** The fragment of its address, as GitHub makes it. */
  anchor: string;
  /** Everything below the heading, as Markdown. */
  markdown: string;
  /** The same as plain text, without its code. */
  text: string;
};

export type Guide = {
  /** The file's name without `.md`; the last part of its address. */
  slug: string;
  title: string;
  /** The paragraph below the title, as plain text. */
  summary: string;
  sections: readonly Section[];
  /** The whole file. */
  markdown: string;
};

/** The order in which to read them; guides that are not named here follow by name. */
const readingOrder = [
  'getting-started',
  'authentication',
  'keys',
  'browser-keys',
  'rotating-and-leaked-keys',
  'chat',
  'streaming',
  'openai-compatible',
  'sdks',
  'images',
  'search',
  'models',
  'idempotent-retries',
  'quotas',
  'rate-limits',
  'usage-history',
  'plans',
  'accounts',
  'sessions-and-security',
  'errors',
  'versioning',
  'running-parley',
  'connect-a-model',
];

/** Where the guides' examples call the service. */
const EXAMPLE_ORIGIN = 'http://localhost:3000';

/** Makes anchors as GitHub does; the second of a name gets `-1`. One for each document, asked for every heading in turn. */
export function anchorMaker(): (heading: string) => string {
  const seen = new Map<string, number>();
  return (heading) => {
    const name = heading
      .toLowerCase()
      .replace(/[^\p{L}\p{M}\p{N}\p{Pc}\- ]/gu, '')
      .replaceAll(' ', '-');
    const count = seen.get(name) ?? 0;
    seen.set(name, count + 1);
    return count === 0 ? name : `${name}-${count}`;
  };
}

/** The text of inline Markdown, without markup. */
export const inlineText = (tokens: readonly Token[]): string =>
  tokens
    .map((token) => {
      if (token.type === 'br') return ' ';
      return 'tokens' in token && token.tokens
        ? inlineText(token.tokens)
        : 'text' in token
          ? String(token.text)
          : '';
    })
    .join('');

const cellsText = (cells: readonly Tokens.TableCell[]) =>
  cells.map((cell) => inlineText(cell.tokens)).join(' – ');

/** The text of a block, one line for each paragraph, list item or row; code is left out. */
function blockText(token: Token): string[] {
  if (token.type === 'table') return [token.header, ...token.rows].map(cellsText);
  if (token.type === 'list')
    return token.items.flatMap((item: Tokens.ListItem) => item.tokens.flatMap(blockText));
  if (token.type === 'blockquote') return (token.tokens ?? []).flatMap(blockText);
  if (token.type === 'paragraph' || token.type === 'text' || token.type === 'heading')
    return [inlineText(token.tokens ?? [token])];
  return [];
}

const languageNames: Record<string, string> = {
  bash: 'curl',
  js: 'JavaScript',
  ts: 'TypeScript',
  python: 'Python',
  json: 'JSON',
};

/** So that "in Python" finds the sections that show it. */
function examplesLine(blocks: readonly Token[]): string[] {
  const languages = blocks.flatMap((block) =>
    block.type === 'code' ? (languageNames[block.lang ?? ''] ?? []) : [],
  );
  return languages.length > 0 ? [`Examples: ${[...new Set(languages)].join(', ')}.`] : [];
}

function section(heading: Tokens.Heading, anchor: string, blocks: readonly Token[]): Section {
  return {
    heading: inlineText(heading.tokens),
    anchor,
    markdown: blocks
      .map((block) => block.raw)
      .join('')
      .trim(),
    text: [...blocks.flatMap(blockText), ...examplesLine(blocks)].join('\n'),
  };
}

/**
 * Takes a guide apart.
 *
 * @param slug - the file's name without `.md`
 * @param markdown - the file: `# Title`, a summary paragraph, then `##` sections
 * @throws Error where it begins with anything but a title and a paragraph
 */
export function parseGuide(slug: string, markdown: string): Guide {
  const tokens = marked.lexer(markdown);
  const [title, summary] = tokens.filter(({ type }) => type !== 'space');
  if (title?.type !== 'heading' || title.depth !== 1 || summary?.type !== 'paragraph') {
    throw new Error(`docs/guides/${slug}.md: a guide begins with "# Title" and a paragraph.`);
  }
  const anchorOf = anchorMaker();
  const found: { heading: Tokens.Heading; anchor: string; blocks: Token[] }[] = [];
  for (const token of tokens) {
    const anchor = token.type === 'heading' ? anchorOf(inlineText(token.tokens ?? [])) : '';
    if (token.type === 'heading' && token.depth === 2)
      found.push({ heading: token as Tokens.Heading, anchor, blocks: [] });
    else found.at(-1)?.blocks.push(token);
  }
  return {
    slug,
    title: inlineText(title.tokens ?? []),
    summary: inlineText(summary.tokens ?? []),
    sections: found.map(({ heading, anchor, blocks }) => section(heading, anchor, blocks)),
    markdown,
  };
}

const orderOf = ({ slug }: Guide) =>
  readingOrder.includes(slug) ? readingOrder.indexOf(slug) : readingOrder.length;

let installed: readonly Guide[] | undefined;

/** The guides of this installation in reading order; read from the disk once. */
export function guides(): readonly Guide[] {
  if (installed === undefined) {
    const folder = new URL('docs/guides/', projectRoot);
    const names = readdirSync(folder)
      .filter((name) => name.endsWith('.md'))
      .sort();
    installed = names
      .map((name) => parseGuide(name.slice(0, -'.md'.length), readFileSync(new URL(name, folder), 'utf8')))
      .sort((one, other) => orderOf(one) - orderOf(other));
  }
  return installed;
}

/** Changes whenever anything in the guides does. */
export const guidesDigest = (all: readonly Guide[]): string =>
  createHash('sha256').update(JSON.stringify(all)).digest('hex');

/** The address of a guide or of a section of it. */
export const guideUrl = (publicUrl: string, slug: string, anchor = ''): string =>
  `${publicUrl}/docs/guides/${slug}${anchor === '' ? '' : `#${anchor}`}`;

/**
 * Where a link of a guide leads on this service.
 *
 * @param href - as written: `keys.md#create-an-api-key`, `#anchor`, or an address, which stays as it is
 * @param slug - the guide that holds the link
 * @param publicUrl - the service's origin, or nothing for a path
 */
export function resolveLink(href: string, slug: string, publicUrl = ''): string {
  const [, target, anchor] = /^(?:\.\/)?(?:([\w-]+)\.md)?(?:#([^#]+))?$/.exec(href) ?? [];
  return target === undefined && anchor === undefined ? href : guideUrl(publicUrl, target ?? slug, anchor);
}

/** As part of an address, or as the SDK's base URL. */
const exampleOrigin = new RegExp(`(?<=baseUrl: ')${EXAMPLE_ORIGIN}|${EXAMPLE_ORIGIN}(?=/)`, 'g');

/** Examples that call this installation instead of the machine on which the guides were written. */
export const withOwnOrigin = (markdown: string, publicUrl: string): string =>
  markdown.replace(exampleOrigin, () => publicUrl);
