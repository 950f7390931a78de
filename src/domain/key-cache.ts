/**
 * Verified keys, kept in memory. Whoever looks a key up notes the generation before asking the database; anything that
 * changed since makes the answer too old to be kept. Contract section 3.
 */
import type { StoredSecret } from '../store/keys.ts';

/** Beyond that the one that was used longest ago goes. */
const ENTRIES_AT_MOST = 10_000;

export class KeyCache {
  readonly #capacity: number;
  /** By public id; the order is that of use. */
  readonly #secrets = new Map<string, StoredSecret>();
  /** Public ids by account. */
  readonly #ofAccount = new Map<string, Set<string>>();
  #generation = 0;

  constructor(capacity = ENTRIES_AT_MOST) {
    this.#capacity = capacity;
  }

  get size(): number {
    return this.#secrets.size;
  }

  /** To be noted before the look-up of what is to be kept. */
  get generation(): number {
    return this.#generation;
  }

  get(publicId: string): StoredSecret | undefined {
    const secret = this.#secrets.get(publicId);
    if (secret === undefined) return undefined;
    this.#secrets.delete(publicId);
    this.#secrets.set(publicId, secret);
    return secret;
  }

  /**
   * Keeps a secret, unless anything was forgotten since.
   *
   * @param generation - as it was before the secret was looked up
   */
  keep(generation: number, publicId: string, secret: StoredSecret): void {
    if (generation !== this.#generation) return;
    this.#drop(publicId);
    this.#secrets.set(publicId, secret);
    const { accountId } = secret;
    const ids = this.#ofAccount.get(accountId) ?? new Set();
    this.#ofAccount.set(accountId, ids.add(publicId));
    const [oldest] = this.#secrets.keys();
    if (this.#secrets.size > this.#capacity && oldest !== undefined) this.#drop(oldest);
  }

  /** Something of the account or its keys has changed. */
  forget(accountId: string): void {
    this.#generation += 1;
    for (const publicId of this.#ofAccount.get(accountId) ?? []) this.#secrets.delete(publicId);
    this.#ofAccount.delete(accountId);
  }

  /** Anything may have changed. */
  clear(): void {
    this.#generation += 1;
    this.#secrets.clear();
    this.#ofAccount.clear();
  }

  #drop(publicId: string): void {
    const secret = this.#secrets.get(publicId);
    if (secret === undefined) return;
    this.#secrets.delete(publicId);
    const ids = this.#ofAccount.get(secret.accountId);
    ids?.delete(publicId);
    if (ids?.size === 0) this.#ofAccount.delete(secret.accountId);
  }
}
