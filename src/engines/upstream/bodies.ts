/** Whole answers, read piece by piece within limits: each one's own, and one for all that an upstream sends at a time. */
import { Blocks } from '../../bodies/blocks.ts';
import { ApiError } from '../../errors.ts';
import { UpstreamProblem } from './errors.ts';
import type { Exchange } from './exchange.ts';

const MIB = 1024 * 1024;
/** What the whole answers of one upstream that are being read may take together. */
const MEMORY_BYTES = 256 * MIB;
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
      return blocks.toBuffer().toString('utf8');
    } finally {
      this.#held -= held;
    }
  }

  #tooMuch(exchange: Exchange): ApiError {
    const cause = new UpstreamProblem(`The upstream's answers are larger than ${this.#most} bytes together.`);
    exchange.abort(cause);
    return new ApiError('overloaded', { cause });
  }
}
