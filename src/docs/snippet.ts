/** Extracts the part of a text that a search result shows. */
import { termsOfWord, tokenize } from './search-terms.ts';

/** Length in characters. */
export const SNIPPET_LENGTH = 300;

type Sentences = {
  texts: readonly string[];
  /** For each sentence, the end of the longest snippet that starts with it. */
  ends: readonly number[];
  /** The indices of the sentences that contain a term, in order. */
  holders: ReadonlyMap<string, readonly number[]>;
};

const kept = new WeakMap<object, Sentences>();

/** The end of a snippet with as many sentences as fit, but at least one. */
function endFrom(texts: readonly string[], start: number): number {
  let end = start + 1;
  let length = texts[start]?.length ?? 0;
  for (let next = texts[end]; next !== undefined; next = texts[end]) {
    length += 1 + next.length;
    if (length > SNIPPET_LENGTH) break;
    end += 1;
  }
  return end;
}

/** Splits a text into lines (paragraphs, list items, and table rows), and paragraphs into sentences. */
function sentencesOf(source: { text: string }): Sentences {
  const known = kept.get(source);
  if (known !== undefined) return known;
  const texts = source.text
    .split(/\n|(?<=[.!?:]) /u)
    .map((text) => text.replace(/\s+/gu, ' ').trim())
    .filter((text) => text !== '');
  const holders = new Map<string, number[]>();
  for (const [place, text] of texts.entries()) {
    for (const term of new Set(tokenize(text).flatMap(termsOfWord))) {
      const places = holders.get(term);
      if (places === undefined) holders.set(term, [place]);
      else places.push(place);
    }
  }
  const sentences = { texts, ends: texts.map((_, start) => endFrom(texts, start)), holders };
  kept.set(source, sentences);
  return sentences;
}

const ended = (text: string): string =>
  text.length <= SNIPPET_LENGTH ? text : `${text.slice(0, SNIPPET_LENGTH - 1).replace(/\s\S*$/u, '')}…`;

/**
 * Returns the whole sentences with the most distinct found terms, on one line. Without any, returns the beginning.
 *
 * @param source - the cache key: its sentences are cached while it exists
 */
export function snippetOf(source: { text: string }, found: ReadonlySet<string>): string {
  const { ends, holders, texts } = sentencesOf(source);
  const matches: (readonly number[])[] = [];
  for (const term of found) {
    const places = holders.get(term);
    if (places !== undefined) matches.push(places);
  }
  let best = 0;
  let most = 0;
  for (const start of [...new Set(matches.flat())].sort((one, other) => one - other)) {
    const end = ends[start] ?? start;
    const distinct = matches.filter((places) => places.some((place) => place >= start && place < end)).length;
    if (distinct > most) {
      best = start;
      most = distinct;
    }
  }
  return ended(texts.slice(best, ends[best]).join(' '));
}
