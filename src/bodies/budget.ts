/**
 * The bytes of all bodies that are being received and parsed, in one budget. It counts what came, not what was announced:
 * an announcement costs nothing. Contract section 6.
 */

/** At most this part of the budget is one sender's. */
const SENDERS_PART = 4;
/** The last part of the budget is for the beginnings of bodies, so that large ones cannot keep small ones out. */
const RESERVED_PART = 8;
const BEGINNING_BYTES = 64 * 1024;

/** One body's part of the budget. */
export type Share = {
  /**
   * Takes room for bytes that came.
   *
   * @returns whether there was room
   */
  take(bytes: number): boolean;
  /** Gives everything back; the second time does nothing. */
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

  /** How many bytes are taken. */
  get used(): number {
    return this.#used;
  }

  /**
   * Begins a body.
   *
   * @param sender - whose it is: an account, or an address. The sum of its bodies is at most a quarter of the budget; a
   *   single one may be larger, as its route allows.
   */
  share(sender: string): Share {
    let own = 0;
    let isOpen = true;
    return {
      take: (bytes) => {
        const senders = this.#taken.get(sender) ?? 0;
        const isOnlyBody = senders === own;
        const room = own + bytes > BEGINNING_BYTES ? this.#bytes - this.#bytes / RESERVED_PART : this.#bytes;
        if (!isOpen || this.#used + bytes > room) return false;
        if (!isOnlyBody && senders + bytes > this.#bytes / SENDERS_PART) return false;
        own += bytes;
        this.#used += bytes;
        this.#taken.set(sender, senders + bytes);
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
