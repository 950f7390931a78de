/** The built-in search engine: full-text search over Parley's guides. Contract section 8. */
import { type Documentation, isSection } from '../../docs/documentation.ts';
import type { SectionEntry } from '../../docs/search-entries.ts';
import { snippetOf } from '../../docs/snippet.ts';
import { noteCalled } from '../progress.ts';
import type { SearchEngine } from '../types.ts';

export const titleOf = ({ part, title }: SectionEntry): string => `${part}: ${title}`;

export function builtinSearch(documentation: Documentation, publicUrl: string): SearchEngine {
  return {
    kind: 'builtin',
    async search(query, limit, signal) {
      signal.throwIfAborted();
      noteCalled(signal);
      const { hits } = (await documentation()).search(query, { limit, accepts: isSection });
      return hits.map(({ entry, found, score }) => ({
        title: titleOf(entry),
        url: publicUrl + entry.href,
        snippet: snippetOf(entry, found),
        score,
      }));
    },
  };
}
