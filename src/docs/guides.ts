/**
 * The guides: Markdown files in `docs/guides`, which pages show and the built-in engines search. Contract section 8.
 */
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { marked, type Token, type Tokens } from 'marked';
import { projectRoot } from '../project.ts';

export type Section = {
  heading: string;
  /** The URL fragment, in GitHub's format. */
  anchor: string;
  /** All Markdown below the heading. */
  markdown: string;
  /** The section as plain text, without code. */
  text: string;
};

export type Guide = {
  /** The file name without `.md`, which is also the last part of the path. */
  slug: string;
  title: string;
  summary: string;
  sections: readonly Section[];
  markdown: string;
};

export const OPERATOR_GUIDES = 'Run your own';

/** Groups in reading order. Unlisted guides follow by name, in the last group. */
const groups = {
  Start: ['getting-started', 'authentication'],
  Keys: ['keys', 'browser-keys', 'rotating-and-leaked-keys'],
  'Clients and models': [
    ...[
      'chat',
      'streaming',
      'openai-compatible',
      'anthropic-compatible',
      'frameworks',
      'coding-agents',
      'agent-units',
      'sdks',
    ],
    ...['images', 'search', 'embeddings', 'models'],
  ],
  'Reliable clients': ['errors', 'idempotent-retries', 'webhooks', 'versioning'],
  'Limits and accounts': [
    ...['quotas', 'rate-limits', 'usage-history', 'plans', 'accounts', 'sessions-and-security'],
  ],
  [OPERATOR_GUIDES]: [
    ...['running-parley', 'connect-a-model', 'several-upstreams', 'operators', 'operator-commands'],
  ],
} as const satisfies Record<string, readonly string[]>;

export const guideGroups = Object.keys(groups);

const readingOrder: readonly string[] = Object.values(groups).flat();

export const groupOf = ({ slug }: Pick<Guide, 'slug'>): string =>
  Object.entries(groups).find(([, slugs]) => (slugs as readonly string[]).includes(slug))?.[0] ??
  (guideGroups.at(-1) as string);

/** The origin in the examples of guides. */
const EXAMPLE_ORIGIN = 'http://localhost:3000';

/** Creates GitHub's anchors: a repeated name gets `-1`. Use one instance per document, for all headings in order. */
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

/** Returns one line per paragraph, list item, or row, without code. */
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

/** Lists example languages as text, so that "in Python" matches sections with Python examples. */
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

/** Parses `# Title`, a summary paragraph, and `##` sections. Throws an Error without a title and paragraph. */
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

/** The guides in reading order. Read from disk once. */
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

/** A hash that changes whenever a guide changes. */
export const guidesDigest = (all: readonly Guide[]): string =>
  createHash('sha256').update(JSON.stringify(all)).digest('hex');

export const guideUrl = (publicUrl: string, slug: string, anchor = ''): string =>
  `${publicUrl}/docs/guides/${slug}${anchor === '' ? '' : `#${anchor}`}`;

/**
 * Resolves a link in the guide `slug`, such as `keys.md#create-an-api-key` or `#anchor`. Returns other links unchanged.
 * Without `publicUrl`, returns a path.
 */
export function resolveLink(href: string, slug: string, publicUrl = ''): string {
  const [, target, anchor] = /^(?:\.\/)?(?:([\w-]+)\.md)?(?:#([^#]+))?$/.exec(href) ?? [];
  return target === undefined && anchor === undefined ? href : guideUrl(publicUrl, target ?? slug, anchor);
}

/** Matches the origin within a URL, or as the SDK's base URL. */
const exampleOrigin = new RegExp(`(?<=baseUrl: ')${EXAMPLE_ORIGIN}|${EXAMPLE_ORIGIN}(?=/)`, 'g');

export const withOwnOrigin = (markdown: string, publicUrl: string): string =>
  markdown.replace(exampleOrigin, () => publicUrl);
