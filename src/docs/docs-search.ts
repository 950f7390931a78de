/** The page that searches all documentation: guide sections, operations, and error codes. */
import { html } from 'ghtml';
import { loopShare } from '../concurrency/loop-share.ts';
import { type Documentation, isEntry, isSection } from './documentation.ts';
import type { Page } from './layout.ts';
import { neighborLinks } from './pager.ts';
import type { Entry } from './search-entries.ts';
import { SEARCH_PATH, searchForm } from './search-form.ts';

const PER_PAGE = 20;
/** If fewer entries match all words, the results also include entries that match some of the words. */
const FEW = 5;
/** Length in characters. */
const EXCERPT_LENGTH = 200;
/** Event loop time of a query with ten words that no earlier query contained. */
const SEARCH_MICROSECONDS = 4000;

function beginningOf(text: string): string {
  const line = text.replaceAll('`', '').replace(/\s+/g, ' ');
  return line.length <= EXCERPT_LENGTH ? line : `${line.slice(0, EXCERPT_LENGTH).replace(/\s\S*$/, '')}…`;
}

const partOf = (entry: Entry): string => (isSection(entry) ? `Guide: ${entry.part}` : entry.part);

const pageLink = (query: string, number: number, title: string) => ({
  href: `${SEARCH_PATH}?${new URLSearchParams({ q: query, page: String(number) })}`,
  title,
});

async function resultsHtml(query: string, page: number, documentation: Documentation): Promise<string> {
  const index = await documentation();
  await loopShare.take(SEARCH_MICROSECONDS);
  // Request all hits, so that pages neither repeat nor skip any.
  const { hits } = index.search(query, {
    limit: Number.POSITIVE_INFINITY,
    accepts: isEntry,
    enough: FEW,
    beginnings: true,
  });
  const found = hits.length;
  if (found === 0)
    return html`<p role="status">No results for “${query}”. Try fewer or different words, or browse the <a href="/docs/guides">guides</a> and the <a href="/docs">API reference</a>.</p>`;
  const pages = Math.ceil(found / PER_PAGE);
  const shown = Math.min(page, pages);
  const start = (shown - 1) * PER_PAGE;
  const end = Math.min(found, start + PER_PAGE);
  const count =
    pages > 1
      ? `Results ${start + 1} to ${end} of ${found}`
      : `${found} ${found === 1 ? 'result' : 'results'}`;
  return html`<p role="status">${count} for “${query}”</p>
<ol class="results" start="${start + 1}">
!${hits.slice(start, end).map(
    ({ entry }) =>
      html`<li><a href="${entry.href}">${entry.title}</a> <span class="part">${partOf(entry)}</span><br>${beginningOf(entry.text)}</li>
`,
  )}</ol>
!${
    pages === 1
      ? ''
      : neighborLinks(
          'Pages of results',
          shown > 1 ? pageLink(query, shown - 1, 'Previous results') : undefined,
          shown < pages ? pageLink(query, shown + 1, 'More results') : undefined,
        )
  }`;
}

/**
 * Search results, or only the form if the query is empty. Uses only the first ten distinct words.
 *
 * @param page - counts from 1; shows the last page if there are fewer
 */
export const searchPage = async (
  query: string,
  page: number,
  documentation: Documentation,
): Promise<Page> => ({
  title: query === '' ? 'Search · Parley' : `${query} · Search · Parley`,
  description: 'Search guides, API operations, and error codes.',
  main: html`<h1>Search</h1>
!${searchForm({ query, hasFocus: query === '' })}!${query === '' ? '' : await resultsHtml(query, page, documentation)}`,
});
