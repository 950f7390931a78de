/** The entries of the search index: guides, their sections, operations, and error codes. */
import { errorCodes, errorTable } from '../../schemas/errors.ts';
import { errorUrl } from '../errors.ts';
import { operationsOf } from './api-document.ts';
import { type Guide, groupOf, guideUrl, OPERATOR_GUIDES, type Section } from './guides.ts';
import { operationUrl } from './reference.ts';

export type Entry = {
  /** The path on this service. */
  href: string;
  title: string;
  /** The title of the containing page, such as a guide. */
  part: string;
  text: string;
  /** Other names of the entry. */
  words: string;
  /** A factor of the score, from 0 to 1. It ranks topics of account owners before operator guides and errors. */
  weight: number;
};

export type SectionEntry = Entry & { guide: Pick<Guide, 'slug' | 'title'>; section: Section };

const FOR_OWNERS = 1;
const FOR_OPERATORS = 0.8;
const ERROR = 0.9;

function guideWeight(guide: Pick<Guide, 'slug'>): number {
  if (guide.slug === 'errors') return ERROR;
  return groupOf(guide) === OPERATOR_GUIDES ? FOR_OPERATORS : FOR_OWNERS;
}

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
      weight: guideWeight(guide),
      guide,
      section,
    })),
  );

/**
 * All entries of `/docs/search` except for sections.
 *
 * @param document - the OpenAPI document
 */
export const pageEntries = (guides: readonly Guide[], document: object): Entry[] => [
  ...guides.map((guide) => ({
    href: guideUrl('', guide.slug),
    title: guide.title,
    part: 'Guide',
    text: guide.summary,
    words: '',
    weight: guideWeight(guide),
  })),
  ...operationsOf(document).map((operation) => ({
    href: operationUrl(operation),
    title: operation.summary,
    part: 'API reference',
    text: `${operation.method} ${operation.path}. ${operation.description}`,
    words: `${operation.operationId} ${operation.method} ${operation.path}`,
    weight: operation.path.startsWith('/api/v1/operator/') ? FOR_OPERATORS : FOR_OWNERS,
  })),
  ...errorCodes.map((code) => ({
    href: errorUrl('', code),
    title: code,
    part: `Error, status ${errorTable[code].status}`,
    text: errorTable[code].message,
    words: code,
    weight: ERROR,
  })),
];
