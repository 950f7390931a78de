/**
 * Parts of a body that stay JSON text: what the service passes on without looking inside. Handing a list of a million
 * numbers from thread to thread, or writing it again for an upstream, would hold the event loop. Contract section 6.
 */

/** JSON text that a worker wrote, by the value that it is the text of. The values are never changed. */
const texts = new WeakMap<object, Uint8Array>();

/** Stands in a body for a value that was too large to be handed over. It has no members that anybody could read. */
export class SealedJson {
  /** For code that does not know `writeJson`: right, but as slow as what sealing avoids. */
  toJSON(): unknown {
    const text = texts.get(this);
    return text === undefined ? null : JSON.parse(Buffer.from(text).toString('utf8'));
  }
}

/** Remembers the text of an object or a list. */
export function rememberJson(value: object, text: Uint8Array): void {
  texts.set(value, text);
}

const knownText = (value: unknown): Uint8Array | undefined =>
  typeof value === 'object' && value !== null ? texts.get(value) : undefined;

/**
 * Writes an object as JSON, as `JSON.stringify` does; members whose text is known are copied.
 *
 * @returns text, or where something was copied its UTF-8
 */
export function writeJson(body: Readonly<Record<string, unknown>>): string | Uint8Array {
  const members = Object.entries(body).filter(([, value]) => value !== undefined);
  if (!members.some(([, value]) => knownText(value) !== undefined)) return JSON.stringify(body);
  const pieces = members.flatMap(([name, value], index) => [
    Buffer.from(`${index === 0 ? '{' : ','}${JSON.stringify(name)}:`),
    knownText(value) ?? Buffer.from(JSON.stringify(value)),
  ]);
  return Buffer.concat([...pieces, Buffer.from('}')]);
}

/** The length of a value as JSON, in bytes where its text is known, else in characters. */
export const jsonLength = (value: unknown): number =>
  knownText(value)?.length ?? JSON.stringify(value)?.length ?? 0;
