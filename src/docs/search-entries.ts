/** What the search index holds: guides, their sections, operations, and error codes. */
import { errorCodes, errorTable } from '../../schemas/errors.ts';
import { errorUrl } from '../errors.ts';
import { operationsOf } from './api-document.ts';
import { type Guide, guideUrl, type Section } from './guides.ts';
import { operationUrl } from './reference.ts';

export type Entry = {
  /** A path of this service. */
  href: string;
  title: string;
  /** The containing page, such as the title of a guide. */
  part: string;
  text: string;
  /** Other names. */
  words: string;
};

export type SectionEntry = Entry & { guide: Pick<Guide, 'slug' | 'title'>; section: Section };

type GuideText = Pick<Guide, 'slug' | 'title' | 'sections'>;

/** The sections of guides, in reading order. */
export const sectionEntries = (guides: readonly GuideText[]): SectionEntry[] =>
  guides.flatMap((guide) =>
    guide.sections.map((section) => ({
      href: guideUrl('', guide.slug, section.anchor),
      title: section.heading,
      part: guide.title,
      text: section.text,
      words: '',
      guide,
      section,
    })),
  );

/**
 * Everything else that `/docs/search` finds.
 *
 * @param document - the OpenAPI document
 */
export const pageEntries = (guides: readonly Guide[], document: object): Entry[] => [
  ...guides.map(({ slug, summary, title }) => ({
    href: guideUrl('', slug),
    title,
    part: 'Guide',
    text: summary,
    words: '',
  })),
  ...operationsOf(document).map((operation) => ({
    href: operationUrl(operation),
    title: operation.summary,
    part: 'API reference',
    text: `${operation.method} ${operation.path}. ${operation.description}`,
    words: `${operation.operationId} ${operation.method} ${operation.path}`,
  })),
  ...errorCodes.map((code) => ({
    href: errorUrl('', code),
    title: code,
    part: `Error, status ${errorTable[code].status}`,
    text: errorTable[code].message,
    words: code,
  })),
];
