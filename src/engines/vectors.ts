/** Vectors as OpenAI's API encodes them: numbers, or Base64 of little-endian 32-bit floats. */

const BYTES = 4;

const isBase64 = (text: string): boolean => text.length % 4 === 0 && /^[A-Za-z0-9+/]*={0,2}$/.test(text);

export function toBase64(vector: readonly number[]): string {
  const bytes = Buffer.allocUnsafe(vector.length * BYTES);
  for (const [index, value] of vector.entries()) bytes.writeFloatLE(value, index * BYTES);
  return bytes.toString('base64');
}

/** Returns undefined unless the text is Base64 of a whole number of floats. */
export function fromBase64(text: string): number[] | undefined {
  if (!isBase64(text)) return undefined;
  const bytes = Buffer.from(text, 'base64');
  if (bytes.length % BYTES !== 0) return undefined;
  return Array.from({ length: bytes.length / BYTES }, (_, index) => bytes.readFloatLE(index * BYTES));
}

/** Whether every component is a number that a 32-bit float can hold. */
export const isFinite32 = (vector: readonly unknown[]): vector is number[] =>
  vector.every((value) => typeof value === 'number' && Number.isFinite(Math.fround(value)));
