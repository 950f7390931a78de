/** Search by any SearXNG-compatible JSON endpoint. Contract section 8. */
import type { SearchEngine, SearchResult } from '../types.ts';
import { isObject, type JsonObject } from './json.ts';
import { createTransport, MIB, type UpstreamOptions } from './transport.ts';

export type UpstreamSearchOptions = Omit<UpstreamOptions, 'apiKey'>;

// What the schema of a result allows.
const MAX_TITLE_LENGTH = 1000;
const MAX_URL_LENGTH = 4000;
const MAX_SNIPPET_LENGTH = 4000;
/** A page of results is a few hundred KiB at most. */
const ANSWER_BYTES = 4 * MIB;
const MAX_SCORE = 1_000_000_000;

const entities: Readonly<Record<string, string>> = {
  amp: '&',
  lt: '<',
  gt: '>',
  quot: '"',
  apos: "'",
  '#39': "'",
  nbsp: ' ',
};

/**
 * SearXNG reads a word that begins with one of these as a command: `!images`, `:de`, `<3`. In quotes it is a word like
 * any other; our contract takes every character literally.
 */
const literally = (query: string): string => query.replace(/(?<!\S)[!:<?][^\s"]*/g, '"$&"');

/** Plain text on one line: engines mark the words they found, and some leave entities. */
function plain(value: unknown, maxLength: number): string {
  if (typeof value !== 'string') return '';
  // Longer than any text that would be kept, so that a page in place of a snippet costs nothing.
  const text = value
    .slice(0, maxLength * 4)
    .toWellFormed()
    .replace(/<\/?[a-z][^<>]*>/gi, '')
    .replace(/&(amp|lt|gt|quot|apos|#39|nbsp);/g, (entity, name: string) => entities[name] ?? entity)
    .replace(/\s+/g, ' ')
    .trim();
  // Not between the halves of a character.
  return text.length <= maxLength ? text : `${text.slice(0, maxLength - 1).replace(/[\ud800-\udbff]$/, '')}…`;
}

/** A link that a page may show, spelled as RFC 3986 wants it; nothing for `javascript:`, `magnet:` and their like. */
function link(value: unknown): string | undefined {
  if (typeof value !== 'string' || !URL.canParse(value)) return undefined;
  const { href, protocol } = new URL(value);
  if (protocol !== 'http:' && protocol !== 'https:') return undefined;
  const spelled = href.replace(/[^\w\-.~:/?#@!$&'()*+,;=%[\]]/g, encodeURIComponent);
  return spelled.length <= MAX_URL_LENGTH ? spelled : undefined;
}

function resultOf(
  row: unknown,
): { result: Omit<SearchResult, 'score'>; score: number | undefined } | undefined {
  const url = isObject(row) ? link(row.url) : undefined;
  if (!isObject(row) || url === undefined) return undefined;
  const { score } = row;
  return {
    result: {
      title: plain(row.title, MAX_TITLE_LENGTH) || url.slice(0, MAX_TITLE_LENGTH),
      url,
      snippet: plain(row.content, MAX_SNIPPET_LENGTH),
    },
    score: typeof score === 'number' && score >= 0 ? Math.min(score, MAX_SCORE) : undefined,
  };
}

/**
 * The results of a SearXNG answer, best first. Scores are comparable within one answer, so that where one is missing
 * all are counted by their place: 1, 1/2, 1/3, …
 */
function readResults(answer: JsonObject, limit: number): SearchResult[] {
  const rows = Array.isArray(answer.results) ? (answer.results as unknown[]) : [];
  const found = rows.map(resultOf).filter((entry) => entry !== undefined);
  const areScored = found.every(({ score }) => score !== undefined);
  return found
    .map(({ result, score }, place) => ({ ...result, score: areScored ? (score ?? 0) : 1 / (place + 1) }))
    .sort((one, other) => other.score - one.score)
    .slice(0, limit);
}

/** `https://host`, `https://host/`, `https://host/search` and the same under a path: all mean the search page. */
function splitUrl(given: string): { url: string; path: string } {
  const url = new URL(given);
  url.pathname = url.pathname.replace(/\/+$/, '').replace(/\/search$/, '');
  return { url: url.href, path: '/search' };
}

/**
 * Makes the engine; nothing is asked of the upstream yet.
 *
 * @param options - `SEARCH_URL`, whose query string, if any, is sent along (`?language=en`), and the timeouts
 */
export function createUpstreamSearch(options: UpstreamSearchOptions): SearchEngine {
  const { path, url } = splitUrl(options.url);
  const transport = createTransport({ ...options, url });
  return {
    kind: 'upstream',
    async search(query, limit, signal) {
      const parameters = new URLSearchParams({ q: literally(query), format: 'json' });
      const answer = await transport.json({
        method: 'GET',
        path: `${path}?${parameters}`,
        signal,
        maxBytes: ANSWER_BYTES,
      });
      if (!Array.isArray(answer.results)) throw transport.broken('The search answer has no results.');
      return readResults(answer, limit);
    },
  };
}
