/** Spreads the reading of large bodies over time, so that other requests get time too. */

const SLICE_MS = 10;
/** The bytes that a socket delivers at a time. */
const PIECE_BYTES = 64 * 1024;
/** 200 MiB/s in total, which exceeds a network of 1 Gbit/s. */
export const READ_PER_SLICE = 2 * 1024 * 1024;
/** 50 MiB/s in total. */
export const DROPPED_PER_SLICE = 512 * 1024;

type Pausable = { pause(): unknown; resume(): unknown };

export class Pace {
  readonly #perSlice: number;
  readonly #paused = new Set<Pausable>();
  #left: number;
  #timer: NodeJS.Timeout | undefined;

  /** @param perSlice - bytes that all streams together may deliver in each slice of 10 ms */
  constructor(perSlice: number) {
    this.#perSlice = perSlice;
    this.#left = perSlice;
  }

  /** Counts bytes that a stream has delivered. Once the slice is used up, pauses the stream until the next one. */
  count(stream: Pausable, bytes: number): void {
    this.#left -= bytes;
    this.#timer ??= setTimeout(() => this.#nextSlice(), SLICE_MS);
    if (this.#left > 0) return;
    stream.pause();
    this.#paused.add(stream);
  }

  /** Call this when the stream is no longer read. */
  forget(stream: Pausable): void {
    this.#paused.delete(stream);
  }

  #nextSlice(): void {
    this.#timer = undefined;
    // Bytes beyond the slice count against the next one.
    this.#left = Math.min(this.#left, 0) + this.#perSlice;
    // Each stream delivers at least one piece. Resuming all at once would fill a turn of the event loop.
    let resumed = 0;
    for (const stream of this.#paused) {
      if (resumed * PIECE_BYTES >= this.#left) break;
      resumed += 1;
      this.#paused.delete(stream);
      stream.resume();
    }
    if (this.#paused.size > 0) this.#timer = setTimeout(() => this.#nextSlice(), SLICE_MS);
  }
}
