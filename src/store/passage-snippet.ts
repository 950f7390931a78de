/** The part of a passage to show under a search result. */

/** Longest snippet, in characters. */
export const SNIPPET_LENGTH = 300;

/** What the database puts around each word that was asked for: from the private-use area, so in no guide. */
export const MARK = { start: '\uE000', stop: '\uE001' } as const;
const marks = new RegExp(`[${MARK.start}${MARK.stop}]`, 'gu');
const markedWords = new RegExp(`${MARK.start}([^${MARK.stop}]*)${MARK.stop}`, 'gu');

/** Lines are paragraphs, list items and table rows; a paragraph is taken apart into sentences. */
const sentencesOf = (text: string): string[] =>
  text.split(/\n|(?<=[.!?:]) /u).filter((sentence) => sentence.trim() !== '');

const plain = (text: string): string => text.replace(marks, '').replace(/\s+/gu, ' ').trim();

/** Ends a text that is too long at a word. */
const ended = (text: string): string =>
  text.length <= SNIPPET_LENGTH ? text : `${text.slice(0, SNIPPET_LENGTH - 1).replace(/\s\S*$/u, '')}…`;

/** Sentences from the first of a list, as many whole ones as fit, at least one. */
function windowFrom(sentences: readonly string[]): string {
  let window = sentences[0] ?? '';
  for (const sentence of sentences.slice(1)) {
    if (plain(`${window} ${sentence}`).length > SNIPPET_LENGTH) break;
    window = `${window} ${sentence}`;
  }
  return window;
}

const distinctWords = (text: string): number =>
  new Set([...text.matchAll(markedWords)].map(([, word]) => word?.toLowerCase())).size;

/**
 * Cuts a snippet: the whole sentences that together hold the most different words that were asked for, from a
 * sentence with one of them on.
 *
 * @param text - plain text with `MARK` around the words that were asked for
 * @returns one line of at most `SNIPPET_LENGTH` characters
 */
export function snippetOf(text: string): string {
  const sentences = sentencesOf(text);
  const [first = '', ...others] = sentences.flatMap((sentence, index) =>
    sentence.includes(MARK.start) ? [windowFrom(sentences.slice(index))] : [],
  );
  const best = others.reduce(
    (chosen, window) => (distinctWords(window) > distinctWords(chosen) ? window : chosen),
    first,
  );
  return ended(plain(best === '' ? windowFrom(sentences) : best));
}
