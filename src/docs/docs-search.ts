/** In-memory search over all documentation: guide sections, operations, and error codes. */
import { html } from 'ghtml';
import { LRUCache } from 'lru-cache';
import MiniSearch from 'minisearch';
import { errorCodes, errorTable } from '../../schemas/errors.ts';
import { errorUrl } from '../errors.ts';
import { operationsOf } from './api-document.ts';
import { type Guide, guideUrl } from './guides.ts';
import type { Page } from './layout.ts';
import { operationUrl } from './reference.ts';

/** In characters. */
export const MAX_QUERY_LENGTH = 200;
const MOST = 20;
/** Most distinct words of a query: each costs a walk through the index. */
const MOST_TERMS = 10;
/** Shorter prefixes match too many words and cost the most. */
const SHORTEST_BEGINNING = 3;
/** Words of at least this length may be misspelled, by at most `MOST_SLIPS` letters. */
const SHORTEST_MISSPELLED = 6;
const MOST_SLIPS = 2;
/** No word of the documentation is longer. */
const LONGEST_TERM = 40;
const KEPT_RESULTS = 500;
/** In characters. */
const EXCERPT_LENGTH = 200;

type Found = {
  /** A path of this service. */
  href: string;
  title: string;
  /** The containing page, such as the title of a guide. */
  part: string;
  text: string;
};
type Entry = Found & { words: string };

/** Makes `apiKeyRevoked` match as a whole and by each of its words. */
const wordsOf = (name: string) => `${name} ${name.replace(/([a-z])([A-Z])/g, '$1 $2')}`;

const entriesOf = (guides: readonly Guide[], document: object): Entry[] => [
  ...guides.flatMap(({ sections, slug, summary, title }) => [
    { href: guideUrl('', slug), title, part: 'Guide', text: summary, words: '' },
    ...sections.map(({ anchor, heading, text }) => ({
      href: guideUrl('', slug, anchor),
      title: heading,
      part: `Guide: ${title}`,
      text,
      words: '',
    })),
  ]),
  ...operationsOf(document).map((operation) => ({
    href: operationUrl(operation),
    title: operation.summary,
    part: 'API reference',
    text: `${operation.method} ${operation.path}. ${operation.description}`,
    words: wordsOf(operation.operationId),
  })),
  ...errorCodes.map((code) => ({
    href: errorUrl('', code),
    title: code,
    part: `Error, status ${errorTable[code].status}`,
    text: errorTable[code].message,
    words: wordsOf(code),
  })),
];

const stopWords = new Set(
  'a an and are can do does for how i in is it me my of on or the there to what when where which with you your'.split(
    ' ',
  ),
);
/** If fewer entries match all words, entries that match some follow. */
const FEW = 5;

type Results = { count: number; best: readonly Found[] };

/** Matches whole words and prefixes, best first. Uses only the first ten distinct words. */
export type Search = (query: string) => Results;

const termOf = (word: string) => word.toLowerCase();
const tokenize = MiniSearch.getDefault('tokenize') as (text: string) => string[];

function termsOf(query: string): string[] {
  const terms = tokenize(query)
    .map(termOf)
    .filter((term) => term !== '' && term.length <= LONGEST_TERM && !stopWords.has(term));
  return [...new Set(terms)].slice(0, MOST_TERMS);
}

export function docsSearch(guides: readonly Guide[], document: object): Search {
  const entries = entriesOf(guides, document);
  const index = new MiniSearch({
    fields: ['title', 'words', 'part', 'text'],
    processTerm: (word) => {
      const term = termOf(word);
      return stopWords.has(term) ? null : term;
    },
    searchOptions: {
      prefix: (term) => term.length >= SHORTEST_BEGINNING,
      fuzzy: (term) => (term.length >= SHORTEST_MISSPELLED ? 0.2 : false),
      maxFuzzy: MOST_SLIPS,
      boost: { title: 4, words: 3, part: 2 },
    },
  });
  index.addAll(entries.map((entry, id) => ({ ...entry, id })));
  const find = (terms: string): Results => {
    const all = index.search(terms, { combineWith: 'AND' });
    const found = all.length < FEW ? [...all, ...index.search(terms)] : all;
    const ids = [...new Set(found.map(({ id }) => id))];
    return { count: ids.length, best: ids.slice(0, MOST).flatMap((id) => entries[id] ?? []) };
  };
  const kept = new LRUCache<string, Results>({ max: KEPT_RESULTS });
  return (query) => {
    const terms = termsOf(query).join(' ');
    const results = kept.get(terms) ?? find(terms);
    kept.set(terms, results);
    return results;
  };
}

function beginningOf(text: string): string {
  const line = text.replaceAll('`', '').replace(/\s+/g, ' ');
  return line.length <= EXCERPT_LENGTH ? line : `${line.slice(0, EXCERPT_LENGTH).replace(/\s\S*$/, '')}…`;
}

export const searchForm = (
  query = '',
): string => html`<form class="search" action="/docs/search" role="search">
<input type="search" name="q" value="${query}" maxlength="${MAX_QUERY_LENGTH}" aria-label="Search guides, operations, and errors" placeholder="Guides, operations, errors" required>
<button>Search</button>
</form>
`;

function resultsHtml(query: string, { best, count: found }: Results): string {
  if (found === 0)
    return html`<p role="status">No results for “${query}”. Try fewer or different words, or browse the <a href="/docs/guides">guides</a> and the <a href="/docs">API reference</a>.</p>`;
  const count =
    found > MOST ? `Top ${MOST} of ${found} results` : `${found} ${found === 1 ? 'result' : 'results'}`;
  return html`<p role="status">${count} for “${query}”</p>
<ol class="results">
!${best.map(
    ({ href, part, text, title }) =>
      html`<li><a href="${href}">${title}</a> <span class="part">${part}</span><br>${beginningOf(text)}</li>
`,
  )}</ol>`;
}

/** Search results, or the form alone without a query. */
export const searchPage = (query: string, search: Search): Page => ({
  title: query === '' ? 'Search · Parley' : `${query} · Search · Parley`,
  description: 'Search guides, API operations, and error codes.',
  main: html`<h1>Search</h1>
!${searchForm(query)}!${query === '' ? '' : resultsHtml(query, search(query))}`,
});
