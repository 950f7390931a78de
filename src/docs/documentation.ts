/** The one search index over the whole documentation of this service. */
import { guides } from './guides.ts';
import { type Entry, pageEntries, type SectionEntry, sectionEntries } from './search-entries.ts';
import { SearchIndex } from './search-index.ts';

export type Documentation = () => Promise<SearchIndex<Entry | SectionEntry>>;

export const isSection = (entry: Entry | SectionEntry): entry is SectionEntry => 'section' in entry;
export const isEntry = (_entry: Entry | SectionEntry): _entry is Entry => true;

/**
 * Builds the index when it is first asked for, which takes about as long as reading the guides.
 *
 * @param document - returns the OpenAPI document, which is complete once all routes are registered
 */
export function documentation(document: () => object): Documentation {
  let index: ReturnType<Documentation> | undefined;
  return () => {
    index ??= SearchIndex.of([...sectionEntries(guides()), ...pageEntries(guides(), document())]);
    return index;
  };
}
