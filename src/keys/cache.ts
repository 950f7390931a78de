/** Verified keys. A change between a lookup and `keep` makes the result too old to cache. Contract section 3. */
import type { StoredSecret } from '../store/keys.ts';

/** Beyond this, the least recently used one is evicted. */
const ENTRIES_AT_MOST = 10_000;

export class KeyCache {
  readonly #capacity: number;
  /** By public id, in the order of use. */
  readonly #secrets = new Map<string, StoredSecret>();
  readonly #ofAccount = new Map<string, Set<string>>();
  #generation = 0;

  constructor(capacity = ENTRIES_AT_MOST) {
    this.#capacity = capacity;
  }

  get size(): number {
    return this.#secrets.size;
  }

  /** Read it before the lookup, for `keep`. */
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

  /** Caches a secret, unless anything changed since `generation` was read before its lookup. */
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

  forget(accountId: string): void {
    this.#generation += 1;
    for (const publicId of this.#ofAccount.get(accountId) ?? []) this.#secrets.delete(publicId);
    this.#ofAccount.delete(accountId);
  }

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
