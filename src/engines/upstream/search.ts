/** Search through any SearXNG-compatible JSON endpoint. Contract section 8. */
import { parsedUrl } from '../../domain/parsed-url.ts';
import type { SearchEngine, SearchResult } from '../types.ts';
import { isObject, type JsonObject } from './json.ts';
import { createTransport, MIB, type UpstreamOptions } from './transport.ts';

export type UpstreamSearchOptions = Omit<UpstreamOptions, 'apiKey'>;

// Limits of the result schema.
const MAX_TITLE_LENGTH = 1000;
const MAX_URL_LENGTH = 4000;
const MAX_SNIPPET_LENGTH = 4000;
/** A page of results has at most a few hundred KiB. */
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

/** SearXNG treats `!images`, `:de`, and `<3` as commands. Quotes make them literal, as the contract requires. */
const literally = (query: string): string => query.replace(/(?<!\S)[!:<?][^\s"]*/g, '"$&"');

/** Plain text on one line. Search engines highlight matches in HTML, and some leave entities. */
function plain(value: unknown, maxLength: number): string {
  if (typeof value !== 'string') return '';
  // Bounds the work if an engine sends a whole page. The result keeps at most a quarter of this.
  const text = value
    .slice(0, maxLength * 4)
    .toWellFormed()
    .replace(/<\/?[a-z][^<>]*>/gi, '')
    .replace(/&(amp|lt|gt|quot|apos|#39|nbsp);/g, (entity, name: string) => entities[name] ?? entity)
    .replace(/\s+/g, ' ')
    .trim();
  // Do not split a surrogate pair.
  return text.length <= maxLength ? text : `${text.slice(0, maxLength - 1).replace(/[\ud800-\udbff]$/, '')}…`;
}

/** A link that a page may show, normalized per RFC 3986. Rejects `javascript:`, `magnet:`, and similar schemes. */
function link(value: unknown): string | undefined {
  const url = typeof value === 'string' ? parsedUrl(value) : undefined;
  if (url === undefined) return undefined;
  const { href, protocol } = url;
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

/** Sorts best first. Scores compare only within one response, so if one is missing, ranks replace all: 1, 1/2, 1/3. */
function readResults(answer: JsonObject, limit: number): SearchResult[] {
  const rows = Array.isArray(answer.results) ? (answer.results as unknown[]) : [];
  const found = rows.map(resultOf).filter((entry) => entry !== undefined);
  const areScored = found.every(({ score }) => score !== undefined);
  return found
    .map(({ result, score }, place) => ({ ...result, score: areScored ? (score ?? 0) : 1 / (place + 1) }))
    .sort((one, other) => other.score - one.score)
    .slice(0, limit);
}

/** Accepts `https://host`, `https://host/`, and `https://host/search`, each also under a path. */
function splitUrl(given: string): { url: string; path: string } {
  const url = new URL(given);
  url.pathname = url.pathname.replace(/\/+$/, '').replace(/\/search$/, '');
  return { url: url.href, path: '/search' };
}

/** Creates the engine without contacting the upstream. Keeps the query string of `SEARCH_URL` (`?language=en`). */
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
      if (!Array.isArray(answer.results)) throw transport.broken('The search response has no results.');
      return readResults(answer, limit);
    },
  };
}
