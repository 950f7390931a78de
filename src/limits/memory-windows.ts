/** Fixed rate-limit windows in the memory of this process. Contract section 5. */

/** The count in a window, and the milliseconds until the window ends. */
export type WindowCount = { current: number; ttl: number };

/** A store of windows. Keys begin with the limit's name and a colon. */
export interface Windows {
  /** Adds one to a window. Opens a window if none is open. */
  take(key: string, windowMs: number): Promise<WindowCount>;
  /** Subtracts one if the window is still open. */
  takeBack(key: string): Promise<void>;
  /** Returns zeros if no window is open. */
  read(key: string): Promise<WindowCount>;
}

type Window = { count: number; endsAt: number };

/** The most windows per rate limit, so that a flood of addresses evicts addresses but never accounts. */
const MAX_WINDOWS = 100_000;
const FORGOTTEN_AT_ONCE = 10_000;
const SWEEP_MS = 1000;

/** The windows of one rate limit. All have the same length, so they end in insertion order. */
class LimitWindows extends Map<string, Window> {
  #sweepAt = 0;

  /** Evicts entries, but not on every call. Iteration is slow to start after a map's first entries were deleted. */
  makeRoom(now: number): void {
    if (now < this.#sweepAt && this.size < MAX_WINDOWS) return;
    this.#sweepAt = now + SWEEP_MS;
    const keep = this.size < MAX_WINDOWS ? MAX_WINDOWS : MAX_WINDOWS - FORGOTTEN_AT_ONCE;
    for (const [key, { endsAt }] of this) {
      if (endsAt > now && this.size <= keep) return;
      this.delete(key);
    }
  }
}

export class MemoryWindows implements Windows {
  readonly #ofLimit = new Map<string, LimitWindows>();

  #windowsFor(key: string): LimitWindows {
    const limit = key.slice(0, key.indexOf(':'));
    const windows = this.#ofLimit.get(limit) ?? new LimitWindows();
    this.#ofLimit.set(limit, windows);
    return windows;
  }

  async take(key: string, windowMs: number): Promise<WindowCount> {
    const now = performance.now();
    const windows = this.#windowsFor(key);
    let window = windows.get(key);
    if (window === undefined || window.endsAt <= now) {
      windows.delete(key);
      windows.makeRoom(now);
      window = { count: 0, endsAt: now + windowMs };
      windows.set(key, window);
    }
    window.count += 1;
    return { current: window.count, ttl: window.endsAt - now };
  }

  async takeBack(key: string): Promise<void> {
    const window = this.#windowsFor(key).get(key);
    if (window !== undefined && window.count > 0) window.count -= 1;
  }

  async read(key: string): Promise<WindowCount> {
    const window = this.#windowsFor(key).get(key);
    const ttl = (window?.endsAt ?? 0) - performance.now();
    return window === undefined || ttl <= 0 ? { current: 0, ttl: 0 } : { current: window.count, ttl };
  }
}
