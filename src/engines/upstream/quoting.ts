/**
 * What of an upstream's words the log may hold. Some servers repeat the request in their errors, and what a model wrote
 * is its client's alone: the log gets neither. Reliability test 54.
 */
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

/** What a request says: the texts in it, whatever they are nested in. */
export function textOf(value: unknown): string {
  if (typeof value === 'string') return value;
  if (Array.isArray(value)) return value.map(textOf).filter(Boolean).join('\n');
  if (!isObject(value)) return '';
  return textOf(Object.entries(value).flatMap(([name, member]) => (named.has(name) ? [] : [member])));
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
