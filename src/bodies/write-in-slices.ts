/** Writes large values as JSON without blocking the event loop. Contract section 6. */
import { setImmediate as letOthersRun } from 'node:timers/promises';
import { rememberJson } from './sealed.ts';

/** Smaller values take well under a millisecond. */
const LARGE = 1024 * 1024;
const SLICE = 64 * 1024;

/** A surrogate pair that is cut in two becomes two escapes with the same meaning. */
function* slicesOf(text: string): Generator<string> {
  yield '"';
  for (let at = 0; at < text.length; at += SLICE)
    yield JSON.stringify(text.slice(at, at + SLICE)).slice(1, -1);
  yield '"';
}

function* jsonOf(value: unknown): Generator<string> {
  if (typeof value === 'string' && value.length > SLICE) yield* slicesOf(value);
  else if (Array.isArray(value)) {
    yield '[';
    for (const [index, item] of value.entries()) {
      if (index > 0) yield ',';
      yield* jsonOf(item === undefined ? null : item);
    }
    yield ']';
  } else if (typeof value === 'object' && value !== null) {
    let separator = '{';
    for (const [name, member] of Object.entries(value)) {
      if (member === undefined) continue;
      yield `${separator}${JSON.stringify(name)}:`;
      yield* jsonOf(member);
      separator = ',';
    }
    yield separator === '{' ? '{}' : '}';
  } else yield JSON.stringify(value);
}

/** The approximate length of a value as JSON. */
export function lengthOf(value: unknown): number {
  if (typeof value === 'string') return value.length;
  if (Array.isArray(value)) return value.reduce<number>((sum, item) => sum + lengthOf(item), 0);
  if (typeof value !== 'object' || value === null) return 1;
  return Object.entries(value).reduce((sum, [name, member]) => sum + name.length + lengthOf(member), 0);
}

/**
 * Writes a large value in turns and remembers its JSON, so that `writeJson` need not write it. The value must not
 * change afterward.
 */
export async function writeInSlices(value: object): Promise<void> {
  if (lengthOf(value) <= LARGE) return;
  const pieces: Buffer[] = [];
  let waiting = '';
  for (const text of jsonOf(value)) {
    waiting += text;
    if (waiting.length < LARGE) continue;
    pieces.push(Buffer.from(waiting));
    waiting = '';
    await letOthersRun();
  }
  pieces.push(Buffer.from(waiting));
  rememberJson(value, Buffer.concat(pieces));
}
