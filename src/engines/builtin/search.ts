/** The built-in search engine: full-text search over Parley's guides. Contract section 8. */

import type { Db } from '../../database/client.ts';
import { guideUrl } from '../../docs/guides.ts';
import { type PassageHit, searchPassages } from '../../store/passages.ts';
import type { SearchEngine } from '../types.ts';

export const titleOf = ({ title, heading }: Pick<PassageHit, 'title' | 'heading'>): string =>
  `${title}: ${heading}`;

export function builtinSearch(db: Db, publicUrl: string): SearchEngine {
  return {
    kind: 'builtin',
    async search(query, limit, signal) {
      signal.throwIfAborted();
      const hits = await searchPassages(db, query, limit);
      return hits.map((hit) => ({
        title: titleOf(hit),
        url: guideUrl(publicUrl, hit.guide, hit.anchor),
        snippet: hit.snippet,
        score: hit.score,
      }));
    },
  };
}
