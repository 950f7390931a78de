/** The search index over this service's documentation. */
import { guides } from './guides.ts';
import { type Entry, pageEntries, type SectionEntry, sectionEntries } from './search-entries.ts';
import { SearchIndex } from './search-index.ts';

export type Documentation = () => Promise<SearchIndex<Entry | SectionEntry>>;

export const isSection = (entry: Entry | SectionEntry): entry is SectionEntry => 'section' in entry;
export const isEntry = (_entry: Entry | SectionEntry): _entry is Entry => true;

/**
 * Builds the index on first use, which takes about as long as reading the guides.
 *
 * @param document - returns the OpenAPI document, which is complete after all routes are registered
 */
export function documentation(document: () => object): Documentation {
  let index: ReturnType<Documentation> | undefined;
  return () => {
    index ??= SearchIndex.of([...sectionEntries(guides()), ...pageEntries(guides(), document())]);
    return index;
  };
}
