/** Spreads the reading of large bodies over time, so that a flood of them leaves time for other requests. */

/** For all large bodies together: 200 MiB/s, more than a network of 1 Gbit/s delivers. */
const SLICE_BYTES = 2 * 1024 * 1024;
const SLICE_MS = 10;

type Pausable = { pause(): unknown; resume(): unknown };

export class Pace {
  readonly #paused = new Set<Pausable>();
  #left = SLICE_BYTES;
  #timer: NodeJS.Timeout | undefined;

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
    this.#left = Math.min(this.#left, 0) + SLICE_BYTES;
    if (this.#left <= 0) {
      this.#timer = setTimeout(() => this.#nextSlice(), SLICE_MS);
      return;
    }
    const waiting = [...this.#paused];
    this.#paused.clear();
    for (const stream of waiting) stream.resume();
  }
}
