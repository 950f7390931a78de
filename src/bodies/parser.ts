/** Parses small bodies in place, and large or complex ones on a worker. Contract section 6, decision 0021. */
import { isUtf8 } from 'node:buffer';
import { setImmediate as letOthersRun } from 'node:timers/promises';
import { Piscina } from 'piscina';
import { threadProgram } from '../project.ts';
import type { Blocks } from './blocks.ts';
import { rememberDigest } from './digest.ts';
import { putAt } from './lighten.ts';
import { PARSED_IN_PLACE_BYTES, PARSED_IN_PLACE_MARKS } from './limits.ts';
import { putLongStringsBack } from './long-strings.ts';
import { BodyError, parseScanned } from './parse.ts';
import { ParseQueue } from './parse-queue.ts';
import { scanJson } from './scan.ts';
import { markIncomplete, rememberJson, SealedJson } from './sealed.ts';
import type { Result, Task } from './worker.ts';

/** How many bodies may wait for the worker. The byte budget limits them too. */
const MAX_WAITING = 256;
const IDLE_MS = 30_000;
/** Enough for 20 MiB as text, as a value, and as text again. */
const WORKER_HEAP_MB = 512;

export class BusyError extends Error {
  constructor(cause: unknown) {
    super('The body parser is unavailable.', { cause });
    this.name = 'BusyError';
  }
}

export class BodyParser {
  readonly #queue = new ParseQueue(MAX_WAITING);
  #pool: Piscina<Task, Result> | undefined;
  #isClosed = false;

  /**
   * Parses a body. The caller must not use the body afterward.
   *
   * @throws BodyError if the body is rejected; BusyError if too many are waiting
   */
  async parse(body: Blocks, isPassedOn: boolean, isCompared: boolean, most?: number): Promise<unknown> {
    let pieces: Uint8Array[];
    if (body.length <= PARSED_IN_PLACE_BYTES) {
      const bytes = body.toBuffer();
      if (!isUtf8(bytes)) throw new BodyError('The request body is not valid UTF-8.');
      const { marks, refusal } = scanJson(bytes);
      if (refusal !== undefined) throw new BodyError(refusal);
      if (marks <= PARSED_IN_PLACE_MARKS) return parseScanned(bytes.toString('utf8'));
      // Copy it, because the memory of a short body may belong to its connection.
      pieces = [new Uint8Array(bytes)];
    } else pieces = body.toBuffers();
    const result = await this.#run({ pieces, length: body.length, isPassedOn, isCompared, most });
    // Node builds the worker's result in this turn of the event loop. Process it in another turn.
    await letOthersRun();
    if ('refusal' in result) throw new BodyError(result.refusal);
    return unpack(result);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#pool?.destroy();
  }

  async #run(task: Task): Promise<Result> {
    try {
      return await this.#queue.run(task.length, () => this.#runNow(task));
    } catch (error) {
      throw new BusyError(error);
    }
  }

  async #runNow(task: Task): Promise<Result> {
    if (this.#isClosed) throw new Error('The parser is closed.');
    this.#pool ??= new Piscina<Task, Result>({
      filename: threadProgram('bodies/worker').href,
      minThreads: 0,
      maxThreads: 1,
      idleTimeout: IDLE_MS,
      // Let the worker sleep in its event loop, because nothing interrupts an atomic wait.
      atomics: 'disabled',
      resourceLimits: { maxOldGenerationSizeMb: WORKER_HEAP_MB },
    });
    return this.#pool.run(task, { transferList: task.pieces.map(({ buffer }) => buffer as ArrayBuffer) });
  }
}

function unpack({ digest, members, pieces, strings, value }: Exclude<Result, { refusal: string }>): unknown {
  putLongStringsBack(value, strings);
  for (const { path, text } of pieces) {
    const sealed = new SealedJson();
    if (text !== undefined) rememberJson(sealed, text);
    putAt(value, path, sealed);
  }
  const fields = value as Record<string, unknown>;
  if (pieces.some(({ text }) => text === undefined)) markIncomplete(fields);
  for (const { name, text } of members) {
    const member = fields[name];
    if (typeof member === 'object' && member !== null) rememberJson(member, text);
  }
  if (digest !== undefined) rememberDigest(value, digest);
  return value;
}
