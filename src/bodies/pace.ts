/** Spreads the reading of large bodies over time, so that many of them leave time for other requests. */

const SLICE_MS = 10;
/** 200 MiB/s in all, more than a network of 1 Gbit/s delivers. */
export const READ_PER_SLICE = 2 * 1024 * 1024;
/** 50 MiB/s in all. */
export const DROPPED_PER_SLICE = 512 * 1024;

type Pausable = { pause(): unknown; resume(): unknown };

export class Pace {
  readonly #perSlice: number;
  readonly #paused = new Set<Pausable>();
  #left: number;
  #timer: NodeJS.Timeout | undefined;

  /** @param perSlice - bytes of all streams together in each slice of 10 ms */
  constructor(perSlice: number) {
    this.#perSlice = perSlice;
    this.#left = perSlice;
  }

  /** Counts bytes that a stream has delivered. Once the slice is used up, the stream waits for the next. */
  count(stream: Pausable, bytes: number): void {
    this.#left -= bytes;
    this.#timer ??= setTimeout(() => this.#nextSlice(), SLICE_MS);
    if (this.#left > 0) return;
    stream.pause();
    this.#paused.add(stream);
  }

  /** Call it when the stream is no longer read. */
  forget(stream: Pausable): void {
    this.#paused.delete(stream);
  }

  #nextSlice(): void {
    this.#timer = undefined;
    // What was read beyond the slice counts against the next one.
    this.#left = Math.min(this.#left, 0) + this.#perSlice;
    if (this.#left <= 0) {
      this.#timer = setTimeout(() => this.#nextSlice(), SLICE_MS);
      return;
    }
    const waiting = [...this.#paused];
    this.#paused.clear();
    for (const stream of waiting) stream.resume();
  }
}
