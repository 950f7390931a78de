/** Looking at JSON that somebody else wrote: nothing about it is certain. */

export type JsonObject = Record<string, unknown>;

/** Whether it is an object, and neither null nor a list. */
export const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Deepest nesting that is read: what parses may still overflow the stack of whatever walks through it later. */
const MAX_NESTING = 100;

/** Most of `{ } [ ] :` and most commas outside strings: parsing holds the event loop for as long as it builds values. */
const MAX_STRUCTURE = 1_000_000;
const MAX_COMMAS = 2_000_000;

/** What `parseJson` makes of JSON with too many values. */
export const TOO_MANY_VALUES = Symbol('too many values');

/** Whether a text nests too deep or holds too many values. Looks at no character of a string. */
function excessOf(text: string): 'nesting' | 'values' | undefined {
  if (text.length <= MAX_NESTING) return undefined;
  let depth = 0;
  let structure = 0;
  let commas = 0;
  for (let index = 0; index < text.length; index += 1) {
    const character = text.charCodeAt(index);
    if (character === 0x22) index = endOfString(text, index);
    else if (character === 0x2c) commas += 1;
    else if (character === 0x3a) structure += 1;
    else if (character === 0x5b || character === 0x7b) {
      structure += 1;
      depth += 1;
      if (depth > MAX_NESTING) return 'nesting';
    } else if (character === 0x5d || character === 0x7d) {
      structure += 1;
      depth -= 1;
    }
    if (structure > MAX_STRUCTURE || commas > MAX_COMMAS) return 'values';
  }
  return undefined;
}

/** Where the quote is that ends a string; the end of the text where there is none. */
function endOfString(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); end >= 0; end = text.indexOf('"', end + 1)) {
    let escapes = 0;
    while (text.charCodeAt(end - 1 - escapes) === 0x5c) escapes += 1;
    if (escapes % 2 === 0) return end;
  }
  return text.length;
}

/** What a text says as JSON; undefined where it is none or nests without reason; `TOO_MANY_VALUES`. */
export function parseJson(text: string): unknown {
  const excess = excessOf(text);
  if (excess !== undefined) return excess === 'values' ? TOO_MANY_VALUES : undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/**
 * A counter that JavaScript and our schemas can hold, or nothing. Fractions are cut off: some servers give times and
 * tokens with them.
 */
export const wholeNumber = (value: unknown): number | undefined =>
  typeof value === 'number' && value >= 0 ? Math.min(Math.trunc(value), Number.MAX_SAFE_INTEGER) : undefined;

/** A text that is neither empty nor longer than our schemas allow, or nothing. */
export const textWithin = (value: unknown, length: number): string | undefined =>
  typeof value === 'string' && value !== '' && value.length <= length ? value : undefined;

/**
 * The text of a message's content. Some models answer in parts, their thoughts in parts of another type: the text is
 * what the others call content.
 */
export function plainText(content: unknown): string | null {
  if (typeof content === 'string') return content;
  if (!Array.isArray(content)) return null;
  const texts = content.flatMap((part) =>
    isObject(part) && part.type === 'text' && typeof part.text === 'string' ? [part.text] : [],
  );
  return texts.length > 0 ? texts.join('') : null;
}
