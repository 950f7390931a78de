/** Hands long strings to another thread as transferable bytes: structured clone copies each of them up to four times. */
import { type Path, putAt } from './lighten.ts';

/** In characters. */
const LONG_STRING = 256 * 1024;

export type LongString = { path: Path; bytes: Uint8Array; encoding: 'latin1' | 'utf16le' };

function encoded(text: string, path: Path): LongString {
  const isAscii = Buffer.byteLength(text) === text.length;
  const encoding = isAscii ? 'latin1' : 'utf16le';
  // Not from Buffer's pool, which cannot be transferred.
  const bytes = Buffer.allocUnsafeSlow(Buffer.byteLength(text, encoding));
  bytes.write(text, encoding);
  return { path, bytes, encoding };
}

/** Takes all long strings out of a value, in place. Null replaces each. */
export function takeLongStrings(value: unknown, path: Path = []): LongString[] {
  if (typeof value !== 'object' || value === null) return [];
  const taken: LongString[] = [];
  for (const [name, member] of Object.entries(value)) {
    const inner = [...path, Array.isArray(value) ? Number(name) : name];
    if (typeof member === 'string') {
      if (member.length <= LONG_STRING) continue;
      taken.push(encoded(member, inner));
      (value as Record<string, unknown>)[name] = null;
    } else for (const string of takeLongStrings(member, inner)) taken.push(string);
  }
  return taken;
}

/** Undoes `takeLongStrings`, after the bytes were transferred. */
export function putLongStringsBack(value: unknown, strings: readonly LongString[]): void {
  for (const { bytes, encoding, path } of strings)
    putAt(value, path, Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString(encoding));
}
