/** Memory budget of all bodies. Counts bytes received, so announcing a large body costs nothing. Contract section 6. */

/** One sender may use at most this fraction of the budget. */
const SENDERS_PART = 4;
/** This fraction is reserved for the beginnings of bodies, so that large ones cannot block small ones. */
const RESERVED_PART = 8;
const BEGINNING_BYTES = 64 * 1024;

export type Share = {
  /** Whether there is room for a whole body now. Reserves nothing. */
  fits(bytes: number): boolean;
  /** Reserves room for received bytes. Returns whether there was room. */
  take(bytes: number): boolean;
  /** Releases all bytes. Safe to call twice. */
  release(): void;
};

export class BodyBudget {
  readonly #bytes: number;
  readonly #taken = new Map<string, number>();
  #used = 0;

  /** @param bytes - `BODY_MEMORY_MB`, in bytes */
  constructor(bytes: number) {
    this.#bytes = bytes;
  }

  get used(): number {
    return this.#used;
  }

  /**
   * Begins a body. A sender's bodies together may use a quarter of the budget, but a single body may be as large as its
   * route allows.
   */
  share(sender: string): Share {
    let own = 0;
    let isOpen = true;
    const fits = (bytes: number) => {
      const senders = this.#taken.get(sender) ?? 0;
      // Not counted against its sender: a slow large body must not lock an account out of everything else.
      if (own + bytes <= BEGINNING_BYTES) return this.#used + bytes <= this.#bytes;
      if (this.#used + bytes > this.#bytes - this.#bytes / RESERVED_PART) return false;
      const isOnlyBody = senders === own;
      return isOnlyBody || senders + bytes <= this.#bytes / SENDERS_PART;
    };
    return {
      fits,
      take: (bytes) => {
        if (!isOpen || !fits(bytes)) return false;
        own += bytes;
        this.#used += bytes;
        this.#taken.set(sender, (this.#taken.get(sender) ?? 0) + bytes);
        return true;
      },
      release: () => {
        if (!isOpen) return;
        isOpen = false;
        this.#used -= own;
        const left = (this.#taken.get(sender) ?? 0) - own;
        if (left > 0) this.#taken.set(sender, left);
        else this.#taken.delete(sender);
      },
    };
  }
}
