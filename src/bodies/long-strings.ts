/** Moves long strings to another thread as transferable bytes. A structured clone copies each up to four times. */
import { type Path, putAt } from './lighten.ts';

/** The length of a long string, in characters. */
const LONG_STRING = 256 * 1024;

export type LongString = { path: Path; bytes: Uint8Array; encoding: 'latin1' | 'utf16le' };

function encoded(text: string, path: Path): LongString {
  const isAscii = Buffer.byteLength(text) === text.length;
  const encoding = isAscii ? 'latin1' : 'utf16le';
  // Buffer's pool cannot be transferred.
  const bytes = Buffer.allocUnsafeSlow(Buffer.byteLength(text, encoding));
  bytes.write(text, encoding);
  return { path, bytes, encoding };
}

/** Removes all long strings from a value, in place. Null replaces each string. */
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

/** Undoes `takeLongStrings` after the transfer. */
export function putLongStringsBack(value: unknown, strings: readonly LongString[]): void {
  for (const { bytes, encoding, path } of strings)
    putAt(value, path, Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString(encoding));
}
