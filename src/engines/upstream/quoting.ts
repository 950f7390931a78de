/**
 * What of an upstream's words the log may hold. Some servers repeat the request in their errors, and what a model wrote
 * is its client's alone: the log gets neither. Reliability test 54.
 */
import { SealedJson } from '../../bodies/sealed.ts';
import { isObject } from './json.ts';
import { readProblem } from './problems.ts';

/** Larger requests are not looked through: then no word is quoted. */
const SEARCHED_CHARACTERS = 64 * 1024;
const QUOTED_CHARACTERS = 500;
const HIDDEN = '…';

/** Codes and types, such as `model_not_found`. */
const isName = (text: string | undefined): text is string => /^[\w.:-]{1,64}$/.test(text ?? '');

/** Members whose values are names, of use to whoever reads the log. */
const named = new Set(['model', 'role', 'type']);

/** More values are not looked through either. */
const SEARCHED_VALUES = 10_000;

/** What a request says: the texts in it, whatever they are nested in. Stops once it is more than is searched. */
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
    // Unknown text must be taken for too much, so that none of it is quoted.
    if (--values < 0 || part instanceof SealedJson) left = -1;
    else if (typeof part === 'string') add(part);
    else if (Array.isArray(part)) for (const item of part) collect(item);
    else if (isObject(part)) for (const name in part) if (!named.has(name)) collect(part[name]);
  };
  collect(value);
  return left < 0 ? texts.join('\n').padEnd(SEARCHED_CHARACTERS + 1) : texts.join('\n');
}

/**
 * A sentence of an upstream without the words that the request has, too.
 *
 * @param asked - the request's text
 */
export function withoutEcho(said: string, asked: string): string {
  if (asked.length > SEARCHED_CHARACTERS) return said === '' ? '' : HIDDEN;
  const known = asked.toLowerCase();
  const masked = said
    .slice(0, QUOTED_CHARACTERS)
    .replace(/[\p{L}\p{N}\p{M}]{3,}/gu, (word) => (known.includes(word.toLowerCase()) ? HIDDEN : word));
  return masked.replace(/…([^\p{L}\p{N}]{1,3}…)+/gu, HIDDEN);
}

/** An answer that is none, without a word of it: what it calls its error, and how long it is. */
export function describeAnswer(text: string): string {
  const { code, type } = readProblem(text);
  const names = [code, type].filter(isName);
  return names.length > 0 ? `${names.join(', ')}.` : `${text.length} characters.`;
}
