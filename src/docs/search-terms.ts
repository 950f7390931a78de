/** Splits texts and queries into the terms of the index, with stems, stop words, and synonyms. */
import { stemmer } from 'stemmer';

/** Limits of a query: its characters, and its distinct terms. The rest is ignored. */
const QUERY_LENGTH = 1000;
export const QUERY_TERMS = 10;
/** Documentation contains no longer words. */
const MAX_WORD_LENGTH = 40;

/** Words that are too common to search for. */
const stopWords = new Set(
  `a about above after again against all am an and any are aren as at be because been before being below between both
  but by can couldn d did didn do does doesn doing don down during each few for from further had hadn has hasn have
  haven having he her here hers him his how i if in into is isn it its itself just ll m me might more most must my
  myself no nor not now of off on once only or other our ours out over own re s same shan she should so some such t
  than that the their them then there these they this those through to too under until up ve very was wasn we were
  weren what when where which while who whom why will with won you your yours`.split(/\s+/),
);

/** Words of questions that say little about the subject. They have a low weight. */
const weakWords =
  `use mean get need want work happen say tell know see go possible support write would could like
  please explain help try one`.split(/\s+/);

/** Synonyms, in lowercase. Stemming also covers their other forms. */
const sameMeaning: readonly (readonly string[])[] = [
  ['create', 'make', 'generate', 'new', 'get'],
  ['delete', 'remove', 'revoke', 'cancel', 'erase'],
  ['change', 'edit', 'update', 'upgrade', 'downgrade', 'switch'],
  ['price', 'pricing', 'cost', 'pay'],
  ['start', 'run', 'install', 'deploy'],
  ['configure', 'settings', 'config', 'environment', 'env'],
  ['postgres', 'postgresql'],
  ['javascript', 'js', 'node', 'typescript'],
  ['client', 'library', 'sdk'],
  ['origin', 'cors'],
  ['conversation', 'thread', 'history'],
  ['image', 'picture', 'photo'],
  ['lost', 'forgot', 'forgotten'],
  ['expire', 'expiry', 'expiration'],
  ['store', 'keep', 'save'],
  ['spent', 'exceeded', 'exhausted'],
  ['message', 'prompt'],
  ['secret', 'safe', 'secure', 'private'],
  ['wait', 'sleep'],
  ['plan', 'tier'],
  ['usage', 'statistics', 'stats'],
  ['limit', 'max', 'maximum'],
  ['localhost', 'local'],
  ['health', 'liveness', 'readiness', 'probe'],
  ['concurrent', 'parallel', 'simultaneous'],
  ['engine', 'bot', 'assistant'],
  ['left', 'remaining'],
  ['upload', 'attach', 'send'],
];

const spellings: readonly (readonly [RegExp, string])[] = [
  [/\b(log|sign|back)-?(in|out|up)\b/giu, '$1 $2'],
  [/\bemail/giu, 'email'],
];

const wordsOf = (text: string): string[] => text.match(/[\p{L}\p{M}\p{N}]+/gu) ?? [];

/** The terms of a word: its stem and, for `apiKeyRevoked`, also the stems of its parts. None for a stop word. */
export function termsOfWord(word: string): string[] {
  if (word.length > MAX_WORD_LENGTH) return [];
  const parts = word.split(/(?<=[a-z])(?=[A-Z])/);
  const names = (parts.length > 1 ? [word, ...parts] : parts).map((part) => part.toLowerCase());
  return names.filter((name) => !stopWords.has(name)).map(stemmer);
}

/** Normalizes the spelling, such as `login` to `log in`. */
const asTheGuidesSpell = (text: string): string =>
  spellings.reduce((spelled, [pattern, words]) => spelled.replace(pattern, words), text);

/** Splits a text into words for the index. */
export const tokenize = (text: string): string[] => wordsOf(asTheGuidesSpell(text));

const weakTerms = new Set(weakWords.map(stemmer));
const synonyms = new Map<string, Set<string>>();
for (const family of sameMeaning) {
  const terms = family.map(stemmer);
  for (const term of terms)
    synonyms.set(term, new Set([...(synonyms.get(term) ?? []), ...terms.filter((other) => other !== term)]));
}

export const isWeak = (term: string): boolean => weakTerms.has(term);

export const synonymsOf = (term: string): Iterable<string> => synonyms.get(term) ?? [];

/** The words of a text in lowercase and between spaces, so that pairs of words can be found in it. */
export const spaced = (text: string): string => ` ${wordsOf(text.toLowerCase()).join(' ')} `;

export type Query = {
  /** Distinct terms in order, at most `QUERY_TERMS`. */
  terms: readonly string[];
  /** Pairs of words between spaces, at most `QUERY_TERMS`. ` log in ` says more than `log`, and `in` says nothing. */
  pairs: readonly string[];
};

/** Parses a query without operators. Does not split names that the index has, such as `quotaExceeded`. */
export function parseQuery(text: string, isKnown: (term: string) => boolean): Query {
  const words = tokenize(text.slice(0, QUERY_LENGTH));
  const terms = new Set<string>();
  for (const word of words) {
    if (terms.size === QUERY_TERMS) break;
    const [whole, ...parts] = termsOfWord(word);
    for (const term of whole === undefined || parts.length === 0 || isKnown(whole) ? [whole] : parts)
      if (term !== undefined && terms.size < QUERY_TERMS) terms.add(term);
  }
  const lower = words.slice(0, QUERY_TERMS + 1).map((word) => word.toLowerCase());
  return {
    terms: [...terms],
    pairs: lower.slice(1).map((word, index) => ` ${lower[index]} ${word} `),
  };
}
