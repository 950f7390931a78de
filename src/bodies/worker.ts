/** The worker thread of `parser.ts`: scans and parses large bodies. */
import { isUtf8 } from 'node:buffer';
import { setPriority } from 'node:os';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { move, transferableSymbol, valueSymbol } from 'piscina';
import { canonicalDigest } from './digest.ts';
import { lighten, type Path } from './lighten.ts';
import { type LongString, takeLongStrings } from './long-strings.ts';
import { BodyError, parseScanned } from './parse.ts';
import { scanJson } from './scan.ts';

export type Task = {
  /** The bytes of the body, in order. */
  pieces: Uint8Array[];
  /** The length of the body, in bytes. */
  length: number;
  /** Whether an upstream gets the body. If so, the worker writes its larger members as JSON. */
  isPassedOn: boolean;
  /** Whether the request has an `Idempotency-Key`. */
  isCompared: boolean;
  /** The parameter of `lighten`. */
  most: number | undefined;
};

export type Result =
  | { refusal: string }
  | {
      value: unknown;
      /** The removed values. `text` is undefined if it is not needed. */
      pieces: { path: Path; text: Uint8Array | undefined }[];
      members: { name: string; text: Uint8Array }[];
      strings: LongString[];
      digest: string | undefined;
    };

/** Longer top-level strings are kept as JSON text. No field that Parley reads is that long. */
const LONG_STRING = 64 * 1024;

/** Each step leaves as much garbage as the body is long. Below this size, V8 collects it soon enough. */
const MUCH_GARBAGE_BYTES = 4 * 1024 * 1024;
setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

// On Linux, this only affects this thread. On a busy machine, the event loop runs first.
setPriority(10);

// Unlike `Buffer.from`, it allocates separate memory each time, which can be transferred.
const encoder = new TextEncoder();
const jsonOf = (value: unknown) => encoder.encode(JSON.stringify(value));

function textOf({ length, pieces }: Task): string {
  const body = Buffer.concat(pieces.splice(0), length);
  if (!isUtf8(body)) throw new BodyError('The request body is not valid UTF-8.');
  const { refusal } = scanJson(body);
  if (refusal !== undefined) throw new BodyError(refusal);
  return body.toString('utf8');
}

function parsedBody(task: Task, endStep: () => void): unknown {
  const text = textOf(task);
  endStep();
  return parseScanned(text);
}

function work(task: Task): Result {
  const { isCompared, isPassedOn, length, most } = task;
  const endStep = () => {
    if (length >= MUCH_GARBAGE_BYTES) collectGarbage();
  };
  endStep();
  const parsed = parsedBody(task, endStep);
  endStep();
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
  endStep();
  const lightened = lighten(parsed, most);
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
  const strings = takeLongStrings(value);
  return {
    value,
    pieces: pieces.map((piece) => ({
      path: piece.path,
      text: isPassedOn ? jsonOf(piece.value) : undefined,
    })),
    members,
    strings,
    digest,
  };
}

/** Piscina transfers the listed memory instead of copying it. */
export default function parseBody(task: Task): unknown {
  let result: Result;
  try {
    result = work(task);
  } catch (error) {
    if (!(error instanceof BodyError)) throw error;
    result = { refusal: error.message };
  }
  const moved =
    'refusal' in result
      ? []
      : [
          ...result.members.map(({ text }) => text),
          ...result.pieces.flatMap(({ text }) => text ?? []),
          ...result.strings.map(({ bytes }) => bytes),
        ];
  return move({
    [transferableSymbol]: moved.map(({ buffer }) => buffer as ArrayBuffer),
    [valueSymbol]: result,
  });
}
