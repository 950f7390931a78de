/** Scans and parses a large body on a thread of its own; `parser.ts` is the other side. */
import { isUtf8 } from 'node:buffer';
import { move, transferableSymbol, valueSymbol } from 'piscina';
import { canonicalDigest } from './digest.ts';
import { lighten, type Path } from './lighten.ts';
import { BodyError, parseScanned } from './parse.ts';
import { scanJson } from './scan.ts';

export type Task = {
  bytes: Uint8Array;
  /** Whether an upstream gets the body: its larger members are written as JSON here. */
  isPassedOn: boolean;
  /** Whether it is compared with another body, for its `Idempotency-Key`. */
  isCompared: boolean;
};

export type Result =
  | { refusal: string }
  | {
      value: unknown;
      /** What was taken out of the value: `text` is undefined where nobody will want it. */
      pieces: { path: Path; text: Uint8Array | undefined }[];
      /** The JSON of top-level members. */
      members: { name: string; text: Uint8Array }[];
      /** Where the body is compared. */
      digest: string | undefined;
    };

/** Longer strings at the top level are passed on as they are: no field that the service reads is that long. */
const LONG_STRING = 64 * 1024;

// Its own memory each time, unlike Buffer.from: it is transferred.
const encoder = new TextEncoder();
const jsonOf = (value: unknown) => encoder.encode(JSON.stringify(value));

function work({ bytes, isCompared, isPassedOn }: Task): Result {
  const body = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (!isUtf8(body)) return { refusal: 'The request body is not valid UTF-8.' };
  const { refusal } = scanJson(body);
  if (refusal !== undefined) return { refusal };
  const parsed = parseScanned(body);
  const digest = isCompared ? canonicalDigest(parsed) : undefined;

  const members: { name: string; text: Uint8Array }[] = [];
  const fields = typeof parsed === 'object' && parsed !== null && !Array.isArray(parsed) ? parsed : {};
  const longStrings: string[] = [];
  if (isPassedOn) {
    for (const [name, member] of Object.entries(fields)) {
      if (typeof member === 'object' && member !== null) members.push({ name, text: jsonOf(member) });
      else if (typeof member === 'string' && member.length > LONG_STRING) longStrings.push(name);
    }
  }
  const lightened = lighten(parsed);
  if (lightened === undefined)
    return {
      refusal: 'The request body is a list or has too many fields. Send a JSON object with fewer fields.',
    };
  const { pieces, value } = lightened;
  for (const name of longStrings) {
    const object = value as Record<string, unknown>;
    pieces.push({ path: [name], value: object[name] });
    object[name] = null;
  }
  return {
    value,
    pieces: pieces.map((piece) => ({
      path: piece.path,
      text: isPassedOn ? jsonOf(piece.value) : undefined,
    })),
    members,
    digest,
  };
}

/** Piscina hands the memory over instead of copying it, where a result says which. */
export default function parseBody(task: Task): unknown {
  let result: Result;
  try {
    result = work(task);
  } catch (error) {
    if (!(error instanceof BodyError)) throw error;
    result = { refusal: error.message };
  }
  const texts =
    'refusal' in result ? [] : [...result.members, ...result.pieces].flatMap(({ text }) => text ?? []);
  return move({
    [transferableSymbol]: texts.map(({ buffer }) => buffer as ArrayBuffer),
    [valueSymbol]: result,
  });
}
