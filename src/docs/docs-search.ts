/** The page that searches all documentation: guide sections, operations, and error codes. */
import { html } from 'ghtml';
import { loopShare } from '../concurrency/loop-share.ts';
import { type Documentation, isEntry, isSection } from './documentation.ts';
import type { Page } from './layout.ts';
import type { Entry } from './search-entries.ts';
import { searchForm } from './search-form.ts';

const MOST = 20;
/** If fewer entries match all words, entries that match some are results, too. */
const FEW = 5;
/** In characters. */
const EXCERPT_LENGTH = 200;
/** For the event loop: of ten words that were not searched for before. */
const SEARCH_MICROSECONDS = 4000;

function beginningOf(text: string): string {
  const line = text.replaceAll('`', '').replace(/\s+/g, ' ');
  return line.length <= EXCERPT_LENGTH ? line : `${line.slice(0, EXCERPT_LENGTH).replace(/\s\S*$/, '')}…`;
}

const partOf = (entry: Entry): string => (isSection(entry) ? `Guide: ${entry.part}` : entry.part);

async function resultsHtml(query: string, documentation: Documentation): Promise<string> {
  const index = await documentation();
  await loopShare.take(SEARCH_MICROSECONDS);
  const { count: found, hits } = index.search(query, {
    limit: MOST,
    accepts: isEntry,
    enough: FEW,
    beginnings: true,
  });
  if (found === 0)
    return html`<p role="status">No results for “${query}”. Try fewer or different words, or browse the <a href="/docs/guides">guides</a> and the <a href="/docs">API reference</a>.</p>`;
  const count =
    found > MOST ? `Top ${MOST} of ${found} results` : `${found} ${found === 1 ? 'result' : 'results'}`;
  return html`<p role="status">${count} for “${query}”</p>
<ol class="results">
!${hits.map(
    ({ entry }) =>
      html`<li><a href="${entry.href}">${entry.title}</a> <span class="part">${partOf(entry)}</span><br>${beginningOf(entry.text)}</li>
`,
  )}</ol>`;
}

/** Search results, or the form alone without a query. Uses only the first ten distinct words. */
export const searchPage = async (query: string, documentation: Documentation): Promise<Page> => ({
  title: query === '' ? 'Search · Parley' : `${query} · Search · Parley`,
  description: 'Search guides, API operations, and error codes.',
  main: html`<h1>Search</h1>
!${searchForm({ query, hasFocus: query === '' })}!${query === '' ? '' : await resultsHtml(query, documentation)}`,
});
