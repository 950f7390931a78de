/** Whole answers, read piece by piece within limits: each one's own, and one for all that an upstream sends at a time. */
import { ApiError } from '../../errors.ts';
import { UpstreamProblem } from './errors.ts';
import type { Exchange } from './exchange.ts';

const MIB = 1024 * 1024;
/** What the whole answers of one upstream that are being read may take together. */
const MEMORY_BYTES = 256 * MIB;
/** Small pieces are copied together: each costs far more than its bytes. */
const BLOCK_BYTES = 64 * 1024;

/** Collects bytes. */
class Blocks {
  readonly #full: Buffer[] = [];
  #block = Buffer.allocUnsafe(0);
  #used = 0;
  length = 0;

  add(piece: Buffer): void {
    this.length += piece.length;
    if (this.#used + piece.length > this.#block.length) this.#begin(piece.length);
    this.#used += piece.copy(this.#block, this.#used);
  }

  toString(): string {
    return Buffer.concat([...this.#full, this.#block.subarray(0, this.#used)], this.length).toString('utf8');
  }

  #begin(atLeast: number): void {
    if (this.#used > 0) this.#full.push(this.#block.subarray(0, this.#used));
    this.#block = Buffer.allocUnsafe(Math.max(BLOCK_BYTES, atLeast));
    this.#used = 0;
  }
}

/** The whole answers of one upstream that are being read. */
export class Bodies {
  readonly #most: number;
  #held = 0;

  constructor(most = MEMORY_BYTES) {
    this.#most = most;
  }

  /**
   * The body up to a size; undefined where it is larger, and the rest is not read.
   *
   * @param bytes - its limit
   * @throws ApiError `overloaded` where all answers together are too large; what reading the exchange throws
   */
  async textWithin(exchange: Exchange, bytes: number): Promise<string | undefined> {
    const blocks = new Blocks();
    let held = 0;
    try {
      for (let pieces = await exchange.read(); pieces !== null; pieces = await exchange.read()) {
        for (const piece of pieces) blocks.add(piece);
        this.#held += blocks.length - held;
        held = blocks.length;
        if (held > bytes) {
          exchange.abort(new Error('The answer is too large.'));
          return undefined;
        }
        if (this.#held > this.#most) throw this.#tooMuch(exchange);
      }
      return blocks.toString();
    } finally {
      this.#held -= held;
    }
  }

  #tooMuch(exchange: Exchange): ApiError {
    const cause = new UpstreamProblem(`The upstream's answers are larger than ${this.#most} bytes together.`);
    exchange.abort(cause);
    return new ApiError('overloaded', { headers: { 'retry-after': '1' }, cause });
  }
}
