/** Reads complete responses within two limits: per response, and for all concurrent responses of an upstream. */
import { setImmediate as letOthersRun } from 'node:timers/promises';
import { Blocks } from '../../bodies/blocks.ts';
import { ApiError } from '../../errors.ts';
import { UpstreamProblem } from './errors.ts';
import type { Exchange } from './exchange.ts';

const MIB = 1024 * 1024;
/** Total size of all complete responses that Parley is reading from one upstream. */
const MEMORY_BYTES = 256 * MIB;
const LARGE_BYTES = 4 * MIB;
/** How much of an error body is read to classify it. */
const REFUSAL_BYTES = 64 * 1024;
const REFUSAL_MS = 5000;

export class Bodies {
  readonly #most: number;
  #held = 0;

  constructor(most = MEMORY_BYTES) {
    this.#most = most;
  }

  /**
   * Returns undefined for a body over `bytes`. Throws ApiError `overloaded` if all bodies together are too large.
   *
   * @param announced - `Content-Length`, if known
   */
  async textWithin(exchange: Exchange, bytes: number, announced?: string): Promise<string | undefined> {
    const blocks = new Blocks(Number(announced) || undefined);
    let held = 0;
    try {
      for (let pieces = await exchange.read(); pieces !== null; pieces = await exchange.read()) {
        for (const piece of pieces) blocks.add(piece);
        this.#held += blocks.length - held;
        held = blocks.length;
        if (held > bytes) {
          exchange.abort(new Error('The response is too large.'));
          return undefined;
        }
        if (this.#held > this.#most) throw this.#tooMuch(exchange);
      }
      const body = blocks.toBuffer();
      // Joining tens of MiB and decoding them each block the event loop for a while.
      if (held > LARGE_BYTES) await letOthersRun();
      return body.toString('utf8');
    } finally {
      this.#held -= held;
    }
  }

  /** Reads an error body. Returns an empty string if the body is too large, too slow, or cut off. */
  async refusal(exchange: Exchange, announced?: string): Promise<string> {
    const slow = new Error('The error response is too slow.');
    const timer = setTimeout(() => exchange.abort(slow), REFUSAL_MS);
    const text = await this.textWithin(exchange, REFUSAL_BYTES, announced).catch(() => undefined);
    clearTimeout(timer);
    return text ?? '';
  }

  #tooMuch(exchange: Exchange): ApiError {
    const cause = new UpstreamProblem(`The upstream's responses total more than ${this.#most} bytes.`);
    exchange.abort(cause);
    return new ApiError('overloaded', { cause });
  }
}
