/** Looking at JSON that somebody else wrote: nothing about it is certain. */

export type JsonObject = Record<string, unknown>;

/** Whether it is an object, and neither null nor a list. */
export const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** What a text says as JSON, or undefined where it is none. */
export function parseJson(text: string): unknown {
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
