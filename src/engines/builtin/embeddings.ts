/**
 * The built-in embedding engine: vectors of length 1 from hashed words and pairs of words. Similar wording gives
 * similar vectors, but meaning has no effect. The same input gives the same vector everywhere. Contract section 14.
 */
import { loopShare } from '../../concurrency/loop-share.ts';
import { builtinEmbeddingModel } from '../../domain/builtin-models.ts';
import { inputsOf, unknownModel, unsupportedDimensions } from '../embedding-input.ts';
import { noteCalled } from '../progress.ts';
import type { EmbeddingEngine } from '../types.ts';
import { toBase64 } from '../vectors.ts';

const DIMENSIONS = 256;
const PAIR_WEIGHT = 0.5;

/** Characters processed at once. NFKC can expand one character to 18. */
const PART = 2048;
/** How many characters shorter a part may be, to end between two words. */
const SHORTER = 256;
const TOKENS_AT_ONCE = 10_000;

/** Event loop time of each step, in microseconds. */
const COST = { input: 5, character: 0.2, token: 0.1, component: 0.2 };

/** Scripts without spaces between words. Each of their characters counts as a word. */
const UNSPACED = '\\p{Script=Han}\\p{Script=Hiragana}\\p{Script=Katakana}\\p{Script=Thai}';
const WORD = new RegExp(`[${UNSPACED}]|[[\\p{L}\\p{M}\\p{N}]--[${UNSPACED}]]+`, 'gv');

/** FNV-1a over UTF-16 code units, then a finalizer that spreads the bits. */
function hash(text: string): number {
  let state = 0x811c9dc5;
  for (let index = 0; index < text.length; index += 1)
    state = Math.imul(state ^ text.charCodeAt(index), 0x01000193);
  return spread(state);
}

function spread(bits: number): number {
  let state = Math.imul(bits ^ (bits >>> 16), 0x85ebca6b);
  state = Math.imul(state ^ (state >>> 13), 0xc2b2ae35);
  return (state ^ (state >>> 16)) >>> 0;
}

/** Adds up hashed features. The lowest bit of a hash is its sign, so that collisions cancel out on average. */
class Features {
  readonly #sums: number[];
  #last: number | undefined;

  constructor(dimensions: number) {
    this.#sums = Array<number>(dimensions).fill(0);
  }

  word(text: string): void {
    const word = hash(text);
    this.#add(word, 1);
    // Not symmetric, because word order matters.
    if (this.#last !== undefined) this.#add(spread(Math.imul(this.#last, 31) ^ word), PAIR_WEIGHT);
    this.#last = word;
  }

  #add(feature: number, weight: number): void {
    const index = (feature >>> 1) % this.#sums.length;
    this.#sums[index] = (this.#sums[index] ?? 0) + (feature & 1 ? -weight : weight);
  }

  /** If the sums are all zero (no words, or words that cancel out), uses a fixed direction: a zero vector has none. */
  vector(): number[] {
    if (!this.#sums.some((sum) => sum !== 0)) this.#sums[hash('') % this.#sums.length] = 1;
    const norm = Math.sqrt(this.#sums.reduce((total, sum) => total + sum * sum, 0));
    return this.#sums.map((sum) => Math.fround(sum / norm));
  }
}

/** The end of the next part: after the last space, or else anywhere except within a surrogate pair. */
function endOfPart(text: string, start: number): number {
  const most = start + PART;
  if (most >= text.length) return text.length;
  for (let end = most; end > most - SHORTER; end -= 1) if (/\s/.test(text.charAt(end - 1))) return end;
  const isSplit = /[\ud800-\udbff]/.test(text.charAt(most - 1));
  return isSplit ? most - 1 : most;
}

/** Returns the number of words. */
async function readText(text: string, features: Features, signal: AbortSignal): Promise<number> {
  let count = 0;
  for (let start = 0; start < text.length; ) {
    signal.throwIfAborted();
    const end = endOfPart(text, start);
    await loopShare.take((end - start) * COST.character);
    const part = text.slice(start, end).normalize('NFKC').toLowerCase();
    await loopShare.take(Math.max(0, part.length - (end - start)) * COST.character);
    for (const word of part.match(WORD) ?? []) {
      features.word(word);
      count += 1;
    }
    start = end;
  }
  return count;
}

/** Each token counts as a word. */
async function readTokens(
  tokens: readonly number[],
  features: Features,
  signal: AbortSignal,
): Promise<number> {
  for (let start = 0; start < tokens.length; start += TOKENS_AT_ONCE) {
    signal.throwIfAborted();
    const part = tokens.slice(start, start + TOKENS_AT_ONCE);
    await loopShare.take(part.length * COST.token);
    for (const token of part) features.word(String(token));
  }
  return tokens.length;
}

export function builtinEmbeddings(): EmbeddingEngine {
  return {
    kind: 'builtin',
    check({ dimensions = DIMENSIONS, model = builtinEmbeddingModel }) {
      if (model !== builtinEmbeddingModel) throw unknownModel([builtinEmbeddingModel]);
      if (dimensions > DIMENSIONS)
        throw unsupportedDimensions(`The built-in engine supports 1 to ${DIMENSIONS} dimensions.`);
      return model;
    },
    async embed({ dimensions = DIMENSIONS, encoding_format: format, input }, signal) {
      noteCalled(signal);
      const vectors: string[] = [];
      let promptTokens = 0;
      for (const one of inputsOf(input)) {
        await loopShare.take(COST.input + dimensions * COST.component);
        const features = new Features(dimensions);
        promptTokens +=
          typeof one === 'string'
            ? await readText(one, features, signal)
            : await readTokens(one, features, signal);
        const vector = features.vector();
        vectors.push(format === 'base64' ? `"${toBase64(vector)}"` : JSON.stringify(vector));
      }
      return { vectors, model: builtinEmbeddingModel, promptTokens };
    },
  };
}
