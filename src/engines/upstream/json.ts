/** Parses untrusted JSON. */

export type JsonObject = Record<string, unknown>;

export const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Returns a string unchanged, and an empty string for any other value. */
export const stringIn = (value: unknown): string => (typeof value === 'string' ? value : '');

/** Removes members that are undefined or null. */
export const present = (fields: JsonObject): JsonObject =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined && value !== null));

/** Deeper JSON may parse, but overflow the stack of code that walks it. */
const MAX_NESTING = 100;

/** Limits on structural characters outside strings, because parsing many values blocks the event loop. */
const MAX_STRUCTURE = 1_000_000;
const MAX_COMMAS = 2_000_000;

export const TOO_MANY_VALUES = Symbol('too many values');

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

/** Returns the index of the closing quote, or the end of the text. */
function endOfString(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); end >= 0; end = text.indexOf('"', end + 1)) {
    let escapes = 0;
    while (text.charCodeAt(end - 1 - escapes) === 0x5c) escapes += 1;
    if (escapes % 2 === 0) return end;
  }
  return text.length;
}

/** Returns undefined if the text is invalid or nested too deep, and `TOO_MANY_VALUES` if it has too many values. */
export function parseJson(text: string): unknown {
  const excess = excessOf(text);
  if (excess !== undefined) return excess === 'values' ? TOO_MANY_VALUES : undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Returns a nonnegative number as a safe integer. Some servers send times and token counts with fractions. */
export const wholeNumber = (value: unknown): number | undefined =>
  typeof value === 'number' && value >= 0 ? Math.min(Math.trunc(value), Number.MAX_SAFE_INTEGER) : undefined;

/** Returns a text that is neither empty nor longer than `length`. Undefined otherwise. */
export const textWithin = (value: unknown, length: number): string | undefined =>
  typeof value === 'string' && value !== '' && value.length <= length ? value : undefined;

/** The text of a message's content. Some models send parts. Skips parts of other types, such as reasoning. */
export function plainText(content: unknown): string | null {
  if (typeof content === 'string') return content;
  if (!Array.isArray(content)) return null;
  const texts = content.flatMap((part) =>
    isObject(part) && part.type === 'text' && typeof part.text === 'string' ? [part.text] : [],
  );
  return texts.length > 0 ? texts.join('') : null;
}
