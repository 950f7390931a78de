/**
 * Parts of a body that stay JSON text, because reading or writing them would block the event loop. Contract section 6.
 */

/** JSON text written by a worker, by value. The values never change. */
const texts = new WeakMap<object, Uint8Array>();

const incomplete = new WeakSet<object>();

/** Replaces a value that was too large to transfer. Its members cannot be read. */
export class SealedJson {
  /** For code that does not use `writeJson`: correct, but as slow as what sealing avoids. */
  toJSON(): unknown {
    const text = texts.get(this);
    return text === undefined ? null : JSON.parse(decoded(text));
  }
}

export function rememberJson(value: object, text: Uint8Array): void {
  texts.set(value, text);
}

/** Notes that parts of a body cannot be read, not even as text. */
export function markIncomplete(body: object): void {
  incomplete.add(body);
}

export const isIncomplete = (body: object): boolean => incomplete.has(body);

/** Not `Buffer.from(text)`, which would copy it. */
const decoded = (text: Uint8Array): string =>
  Buffer.from(text.buffer, text.byteOffset, text.byteLength).toString('utf8');

const knownText = (value: unknown): Uint8Array | undefined =>
  typeof value === 'object' && value !== null ? texts.get(value) : undefined;

/** Writes an object like `JSON.stringify`, or in pieces of UTF-8 if texts are known: joining them would copy them. */
export function writeJson(body: Readonly<Record<string, unknown>>): string | Uint8Array[] {
  const members = Object.entries(body).filter(([, value]) => value !== undefined);
  if (!members.some(([, value]) => knownText(value) !== undefined)) return JSON.stringify(body);
  const pieces = members.flatMap(([name, value], index) => [
    Buffer.from(`${index === 0 ? '{' : ','}${JSON.stringify(name)}:`),
    knownText(value) ?? Buffer.from(JSON.stringify(value)),
  ]);
  return [...pieces, Buffer.from('}')];
}

/** A value as JSON, at once if its text is known. */
export function jsonOf(value: unknown): string {
  const text = knownText(value);
  return text === undefined ? JSON.stringify(value) : decoded(text);
}

/** The length of a value as JSON, in bytes, if its text is known. */
export const knownJsonLength = (value: unknown): number | undefined => knownText(value)?.length;

/** The length of a value as JSON: in bytes if its text is known, otherwise in characters. */
export const jsonLength = (value: unknown): number =>
  knownText(value)?.length ?? JSON.stringify(value)?.length ?? 0;
