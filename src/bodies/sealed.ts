/**
 * Parts of a body that stay JSON text, because parsing or writing them would block the event loop. Contract section 6.
 */

/** JSON text that a worker wrote, by value. The values never change. */
const texts = new WeakMap<object, Uint8Array>();

const incomplete = new WeakSet<object>();

/** Stands for a value that was too large to transfer. Its members cannot be read. */
export class SealedJson {
  /** For code that does not use `writeJson`. Correct, but as slow as parsing the value. */
  toJSON(): unknown {
    const text = texts.get(this);
    return text === undefined ? null : JSON.parse(decoded(text));
  }
}

export function rememberJson(value: object, text: Uint8Array): void {
  texts.set(value, text);
}

/** Marks a body that has unreadable parts, not even available as text. */
export function markIncomplete(body: object): void {
  incomplete.add(body);
}

export const isIncomplete = (body: object): boolean => incomplete.has(body);

/** `Buffer.from(text)` would copy it. */
const decoded = (text: Uint8Array): string =>
  Buffer.from(text.buffer, text.byteOffset, text.byteLength).toString('utf8');

const knownText = (value: unknown): Uint8Array | undefined =>
  typeof value === 'object' && value !== null ? texts.get(value) : undefined;

/** Writes an object like `JSON.stringify`. If texts are known, returns UTF-8 pieces: joining them would copy them. */
export function writeJson(body: Readonly<Record<string, unknown>>): string | Uint8Array[] {
  const members = Object.entries(body).filter(([, value]) => value !== undefined);
  if (!members.some(([, value]) => knownText(value) !== undefined)) return JSON.stringify(body);
  const pieces = members.flatMap(([name, value], index) => [
    Buffer.from(`${index === 0 ? '{' : ','}${JSON.stringify(name)}:`),
    knownText(value) ?? Buffer.from(JSON.stringify(value)),
  ]);
  return [...pieces, Buffer.from('}')];
}

/** A value as JSON, without serializing it if its text is known. */
export function jsonOf(value: unknown): string {
  const text = knownText(value);
  return text === undefined ? JSON.stringify(value) : decoded(text);
}

/** The length of a value as JSON, in bytes, if its text is known. */
export const knownJsonLength = (value: unknown): number | undefined => knownText(value)?.length;

/** The length of a value as JSON: in bytes if its text is known, otherwise in characters. */
export const jsonLength = (value: unknown): number =>
  knownText(value)?.length ?? JSON.stringify(value)?.length ?? 0;
