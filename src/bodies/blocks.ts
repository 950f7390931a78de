/** Smaller pieces are copied together: each separate piece costs hundreds of bytes of memory. */
const SMALL_BYTES = 4096;
const BLOCK_BYTES = 64 * 1024;

export class Blocks {
  readonly #full: Buffer[] = [];
  #block = Buffer.alloc(0);
  #used = 0;
  /** In bytes. */
  length = 0;

  /** Takes ownership of a piece, which must not change afterward. */
  add(piece: Buffer): void {
    this.length += piece.length;
    if (piece.length >= SMALL_BYTES) {
      this.#close();
      this.#full.push(piece);
      return;
    }
    if (this.#used + piece.length > this.#block.length) {
      this.#close();
      this.#block = Buffer.allocUnsafeSlow(BLOCK_BYTES);
    }
    this.#used += piece.copy(this.#block, this.#used);
  }

  /** Returns all bytes in one allocation that can be transferred to a worker. Nothing can be added afterward. */
  toBuffer(): Buffer {
    this.#close();
    const bytes = Buffer.allocUnsafeSlow(this.length);
    let at = 0;
    for (const block of this.#full.splice(0)) at += block.copy(bytes, at);
    return bytes;
  }

  #close(): void {
    if (this.#used === 0) return;
    this.#full.push(this.#block.subarray(0, this.#used));
    this.#block = this.#block.subarray(this.#used);
    this.#used = 0;
  }
}
