/** In characters. */
export const SNIPPET_LENGTH = 300;

/** Private-use characters, so no guide contains them. */
export const MARK = { start: '\uE000', stop: '\uE001' } as const;
const marks = new RegExp(`[${MARK.start}${MARK.stop}]`, 'gu');
const markedWords = new RegExp(`${MARK.start}([^${MARK.stop}]*)${MARK.stop}`, 'gu');

/** Lines are paragraphs, list items and table rows; paragraphs are split into sentences. */
const sentencesOf = (text: string): string[] =>
  text.split(/\n|(?<=[.!?:]) /u).filter((sentence) => sentence.trim() !== '');

const plain = (text: string): string => text.replace(marks, '').replace(/\s+/gu, ' ').trim();

const ended = (text: string): string =>
  text.length <= SNIPPET_LENGTH ? text : `${text.slice(0, SNIPPET_LENGTH - 1).replace(/\s\S*$/u, '')}…`;

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

/** The whole sentences with the most distinct matched words, which `MARK` surrounds, from a sentence with one. */
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
