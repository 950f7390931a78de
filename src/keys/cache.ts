/** Caches verified keys. Does not keep a result if keys changed after its lookup began. Contract section 3. */
import type { StoredSecret } from '../store/keys.ts';

/** Beyond this, the cache evicts the least recently used key. */
const ENTRIES_AT_MOST = 10_000;

export class KeyCache {
  readonly #capacity: number;
  /** By public ID, least recently used first. */
  readonly #secrets = new Map<string, StoredSecret>();
  readonly #ofAccount = new Map<string, Set<string>>();
  #generation = 0;

  constructor(capacity = ENTRIES_AT_MOST) {
    this.#capacity = capacity;
  }

  get size(): number {
    return this.#secrets.size;
  }

  /** Read this before the lookup, and pass it to `keep`. */
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

  /** Caches a secret, unless a key has changed since `generation` was read before the lookup. */
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
