const FIRST_BLOCK_BYTES = 64 * 1024;
const MAX_BLOCK_BYTES = 8 * 1024 * 1024;

/**
 * Collects the pieces of a body in a few blocks of memory. A separate piece of a few bytes would use hundreds. A body
 * that arrives in one piece is not copied.
 */
export class Blocks {
  readonly #expected: number;
  readonly #full: Buffer[] = [];
  #block = Buffer.alloc(0);
  #used = 0;
  /** The number of bytes added. */
  length = 0;

  /** @param expected - how many bytes will arrive, if known */
  constructor(expected = Number.POSITIVE_INFINITY) {
    this.#expected = expected;
  }

  /** Takes ownership of a piece, which must not change afterward. */
  add(piece: Buffer): void {
    if (this.length === 0 && piece.length === this.#expected) {
      this.length = piece.length;
      this.#full.push(piece);
      return;
    }
    for (let at = 0; at < piece.length; ) {
      if (this.#used === this.#block.length) this.#open();
      const copied = piece.copy(this.#block, this.#used, at);
      this.#used += copied;
      this.length += copied;
      at += copied;
    }
  }

  /** Returns all bytes, possibly in shared memory. Nothing can be added afterward. */
  toBuffer(): Buffer {
    const [first = Buffer.alloc(0), ...others] = this.toBuffers();
    return others.length === 0 ? first : Buffer.concat([first, ...others], this.length);
  }

  /** Returns all bytes in order. Nothing can be added afterward. */
  toBuffers(): Buffer[] {
    this.#close();
    return this.#full;
  }

  #open(): void {
    this.#close();
    // Each block is as large as all blocks before it, within limits.
    const room = Math.min(Math.max(FIRST_BLOCK_BYTES, this.length), MAX_BLOCK_BYTES);
    // Until the mismatch is noticed, a body may be longer than announced.
    const expected = Math.max(this.#expected - this.length, 1);
    this.#block = Buffer.allocUnsafeSlow(Math.min(room, expected));
    this.#used = 0;
  }

  #close(): void {
    if (this.#used > 0) this.#full.push(this.#block.subarray(0, this.#used));
    this.#block = Buffer.alloc(0);
    this.#used = 0;
  }
}
