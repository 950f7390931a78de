/** The memory budget of all bodies. Only received bytes count, so announcing a body uses none. Contract section 6. */

/** One sender may use at most this fraction of the budget. */
const SENDERS_PART = 4;
/** Reserves this fraction for the beginnings of bodies, so that large bodies cannot block small ones. */
const RESERVED_PART = 8;
export const BEGINNING_BYTES = 64 * 1024;

/** Some shares respond at once (`boolean`), others later. */
type Answer = boolean | Promise<boolean>;

export type Share<A extends Answer = Answer> = {
  /** Whether a whole body would fit now. Reserves nothing. */
  fits(bytes: number): A;
  /** Reserves memory for received bytes. Returns whether they fit. */
  take(bytes: number): A;
  /** Releases all bytes. Safe to call twice. */
  release(): void;
};

export type Budget = { share(sender: string): Share };

/** The bytes that workers hold for the beginnings of bodies, so that they need not ask the primary for them. */
export const workerBytes = (bytes: number): number => Math.floor(bytes / RESERVED_PART / 2);

export class BodyBudget implements Budget {
  readonly #bytes: number;
  readonly #apart: number;
  readonly #taken = new Map<string, number>();
  #used = 0;

  /**
   * @param bytes - `BODY_MEMORY_MB`, in bytes
   * @param apart - the part of them that workers count separately, for the beginnings of bodies
   */
  constructor(bytes: number, apart = 0) {
    this.#bytes = bytes;
    this.#apart = apart;
  }

  get used(): number {
    return this.#used;
  }

  /**
   * Begins a body. All bodies of a sender may together use a quarter of the budget. A single body may be as large as
   * its route allows.
   */
  share(sender: string): Share<boolean> {
    let own = 0;
    let isOpen = true;
    const fits = (bytes: number) => {
      const senders = this.#taken.get(sender) ?? 0;
      // Not counted against the sender, because one slow, large body must not block the account's other requests.
      if (own + bytes <= BEGINNING_BYTES) return this.#used + bytes <= this.#bytes - this.#apart;
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
