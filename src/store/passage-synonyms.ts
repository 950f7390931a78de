/** Lists of interchangeable words, in lowercase. Stemming finds their other forms. */
const sameMeaning: readonly (readonly string[])[] = [
  ['create', 'make', 'generate', 'new', 'get'],
  ['delete', 'remove', 'revoke', 'cancel'],
  ['change', 'edit', 'update', 'upgrade', 'downgrade', 'switch'],
  ['price', 'pricing', 'cost', 'pay'],
  ['start', 'run', 'install', 'deploy'],
  ['configure', 'settings', 'config', 'environment', 'env'],
  ['postgres', 'postgresql'],
  ['javascript', 'js', 'node', 'typescript'],
  ['client', 'library', 'sdk'],
  ['origin', 'cors'],
  ['conversation', 'thread', 'history'],
  ['image', 'picture'],
  ['lost', 'forgot', 'forgotten'],
  ['expire', 'expiry', 'expiration'],
  ['store', 'keep', 'save'],
  ['spent', 'exceeded', 'exhausted'],
  ['message', 'prompt'],
  ['secret', 'safe', 'secure', 'private'],
];

export const synonyms: readonly { family: number; word: string }[] = sameMeaning.flatMap((words, family) =>
  words.map((word) => ({ family, word })),
);

/** Words of questions rather than subjects. They are not stop words in Postgres, but say little. */
export const stopWords: readonly string[] = [
  'use',
  'mean',
  'get',
  'need',
  'want',
  'work',
  'happen',
  'say',
  'tell',
  'know',
  'see',
  'go',
  'possible',
  'support',
  'write',
  'would',
  'could',
  'like',
  'please',
  'explain',
  'help',
  'try',
];

const spellings: readonly (readonly [RegExp, string])[] = [
  [/\b(log|sign)-?(in|out|up)\b/giu, '$1 $2'],
  [/\bemail/giu, 'email'],
];

/** `login` becomes `log in`. */
export const asTheGuidesSpell = (query: string): string =>
  spellings.reduce((text, [pattern, words]) => text.replace(pattern, words), query);

/** In lowercase: `log in` says more than `log`, and `in` alone says nothing. */
export function neighbours(query: string): string[] {
  const words = query.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];
  return words.slice(1).map((word, index) => `${words[index]} ${word}`);
}
