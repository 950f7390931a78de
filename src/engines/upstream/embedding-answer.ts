/**
 * Parses an embeddings response in slices. Its vectors hold up to millions of numbers, and parsing all of them at once
 * would block the event loop. Contract section 6.
 */
import { loopShare } from '../../concurrency/loop-share.ts';
import { fromBase64, isFinite32, toBase64 } from '../vectors.ts';
import { isObject, type JsonObject, parseJson } from './json.ts';
import type { BrokenError } from './transport.ts';

/** Quotes within a string are escaped, so this matches only member names. */
const MEMBER = /(?<!\\)"embedding"\s*:\s*(?=["[])/g;
/** Limits the text of a vector. No model has that many components, even with all their digits and spaces. */
const MAX_VECTOR_LENGTH = 1024 * 1024;
/** Time to parse, check, and convert one character, in microseconds. */
const CHARACTER_MICROSECONDS = 0.02;

export type Format = 'float' | 'base64';

/** Extracts the vectors from a response. Its position replaces each vector, so that the rest is small. */
export class EmbeddingAnswer {
  readonly #broken: BrokenError;
  readonly #vectors: string[] = [];

  constructor(broken: BrokenError) {
    this.#broken = broken;
  }

  /** Extracts the vectors and returns the parsed rest. Undefined if it is not JSON. */
  parse = async (text: string): Promise<unknown> => {
    const rest: string[] = [];
    const pattern = new RegExp(MEMBER);
    let position = 0;
    while (pattern.test(text)) {
      const start = pattern.lastIndex;
      const end = text.indexOf(text.charAt(start) === '[' ? ']' : '"', start + 1) + 1;
      if (end === 0 || end - start > MAX_VECTOR_LENGTH) return undefined;
      rest.push(text.slice(position, start), String(this.#vectors.length));
      this.#vectors.push(text.slice(start, end));
      position = end;
      pattern.lastIndex = position;
      await loopShare.take(1);
    }
    rest.push(text.slice(position));
    return parseJson(rest.join(''));
  };

  /**
   * Returns the vectors in the order of the inputs, as JSON, and their length.
   *
   * @throws ApiError `upstreamError` unless there is exactly one valid vector per input, all of the same length
   */
  async vectors(
    answer: JsonObject,
    wanted: number,
    format: Format,
  ): Promise<{ vectors: string[]; length: number }> {
    const rows = Array.isArray(answer.data) ? (answer.data as unknown[]) : [];
    if (rows.length !== wanted || this.#vectors.length !== wanted)
      throw this.#broken(`The upstream returned ${rows.length} vectors for ${wanted} inputs.`);
    const vectors = Array<string>(wanted);
    let length: number | undefined;
    for (const [position, row] of rows.entries()) {
      const { embedding, index = position } = isObject(row) ? row : {};
      // The vectors were extracted in the order of the rows.
      if (embedding !== position || !isIndex(index, wanted) || vectors[index] !== undefined)
        throw this.#broken('The indices of the vectors are not those of the inputs.');
      const text = this.#vectors[position] ?? '';
      await loopShare.take(text.length * CHARACTER_MICROSECONDS);
      const vector = this.#read(text);
      length ??= vector.length;
      if (vector.length !== length || length === 0)
        throw this.#broken('The vectors are empty or differ in length.');
      const isAsWanted = text.startsWith('"') === (format === 'base64');
      vectors[index] = isAsWanted
        ? text
        : format === 'base64'
          ? `"${toBase64(vector)}"`
          : JSON.stringify(vector);
      this.#vectors[position] = '';
    }
    return { vectors, length: length ?? 0 };
  }

  #read(text: string): number[] {
    const value = parseJson(text);
    const vector = typeof value === 'string' ? fromBase64(value) : value;
    if (!Array.isArray(vector) || !isFinite32(vector))
      throw this.#broken('A vector is not a list of finite numbers or valid Base64.');
    return vector;
  }
}

const isIndex = (index: unknown, count: number): index is number =>
  typeof index === 'number' && Number.isInteger(index) && index >= 0 && index < count;
