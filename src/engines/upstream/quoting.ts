/** Keeps prompts and replies out of the log: some servers repeat the request in errors. Reliability test 54. */
import { SealedJson } from '../../bodies/sealed.ts';
import { isObject } from './json.ts';
import { readProblem } from './problems.ts';

/** Longer requests are not searched, and the log then quotes nothing. */
const SEARCHED_CHARACTERS = 64 * 1024;
const QUOTED_CHARACTERS = 500;
const HIDDEN = '…';

/** Whether a text is a code or type, such as `model_not_found`. */
const isName = (text: string | undefined): text is string => /^[\w.:-]{1,64}$/.test(text ?? '');

/** Members whose values help readers of the log. */
const named = new Set(['model', 'role', 'type']);

/** The corresponding limit on the number of values. */
const SEARCHED_VALUES = 10_000;

/** Collects all texts in a request. Stops when they exceed the limit. */
export function textOf(value: unknown): string {
  const texts: string[] = [];
  let left = SEARCHED_CHARACTERS;
  let values = SEARCHED_VALUES;
  const add = (text: string) => {
    if (text === '') return;
    texts.push(text.slice(0, SEARCHED_CHARACTERS));
    left -= text.length + 1;
  };
  const collect = (part: unknown): void => {
    if (left < 0) return;
    // Treat unknown text as too long, so that the log quotes nothing.
    if (--values < 0 || part instanceof SealedJson) left = -1;
    else if (typeof part === 'string') add(part);
    else if (Array.isArray(part)) for (const item of part) collect(item);
    else if (isObject(part)) for (const name in part) if (!named.has(name)) collect(part[name]);
  };
  collect(value);
  return left < 0 ? texts.join('\n').padEnd(SEARCHED_CHARACTERS + 1) : texts.join('\n');
}

/** Scripts without word spaces or with attached particles, and numbers. Their parts reveal as much as the whole. */
const unspaced = ['Han', 'Hira', 'Kana', 'Hang', 'Thai', 'Laoo', 'Khmr', 'Mymr', 'Tibt']
  .map((script) => String.raw`\p{Script=${script}}`)
  .concat(String.raw`\p{N}`, 'ー')
  .join('');
const unspacedRuns = new RegExp(`[${unspaced}]+`, 'gu');
const words = new RegExp(`(?:(?![${unspaced}])[\\p{L}\\p{M}]){2,}`, 'gu');

/** Hides each pair of neighboring characters that also occurs in the request. Takes linear time. */
function withoutSharedPairs(message: string, known: string): string {
  if (message.search(unspacedRuns) < 0) return message;
  const shared = new Set<string>();
  for (const [run] of known.matchAll(unspacedRuns)) {
    const characters = [...run];
    for (const [index, character] of characters.entries())
      shared.add(character + (characters[index + 1] ?? ''));
    for (const digit of run.match(/\p{N}/gu) ?? []) shared.add(digit);
  }
  return message.replace(unspacedRuns, (run) => {
    const characters = [...run];
    const isHidden = (index: number) =>
      shared.has(`${characters[index - 1]}${characters[index]}`) ||
      shared.has(`${characters[index]}${characters[index + 1]}`) ||
      (characters.length === 1 && /\p{N}/u.test(run) && shared.has(run));
    return characters.map((character, index) => (isHidden(index) ? HIDDEN : character)).join('');
  });
}

/** Some servers put the request into the message as escaped JSON. */
const unescaped = (message: string): string =>
  message.replace(/\\+u([0-9a-f]{4})/gi, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)));

/**
 * Hides words and numbers of the request in an upstream's message. In scripts without spaces, hides every pair of
 * characters that occurs in the request.
 */
export function withoutEcho(message: string, prompt: string): string {
  if (prompt.length > SEARCHED_CHARACTERS) return message === '' ? '' : HIDDEN;
  const known = prompt.toLowerCase();
  const masked = withoutSharedPairs(unescaped(message).slice(0, QUOTED_CHARACTERS), known).replace(
    words,
    (word) => (known.includes(word.toLowerCase()) ? HIDDEN : word),
  );
  return masked.replace(/\u2026([^\p{L}\p{N}]{0,3}\u2026)+/gu, HIDDEN);
}

/** Describes an invalid response without quoting it: its error code and type, or else its length. */
export function describeAnswer(text: string): string {
  const { code, type } = readProblem(text);
  const names = [code, type].filter(isName);
  return names.length > 0 ? `${names.join(', ')}.` : `${text.length} characters.`;
}
