/** Caches verified keys. Does not keep a result if keys changed after its lookup began. Contract section 3. */
import { LRUCache } from 'lru-cache';
import type { StoredSecret } from '../store/keys.ts';

/** Beyond this, the cache evicts the least recently used key. */
const ENTRIES_AT_MOST = 10_000;

export class KeyCache {
  /** By public ID. */
  readonly #secrets: LRUCache<string, StoredSecret>;
  readonly #ofAccount = new Map<string, Set<string>>();
  #generation = 0;

  constructor(capacity = ENTRIES_AT_MOST) {
    this.#secrets = new LRUCache({
      max: capacity,
      dispose: ({ accountId }, publicId) => {
        const ids = this.#ofAccount.get(accountId);
        ids?.delete(publicId);
        if (ids?.size === 0) this.#ofAccount.delete(accountId);
      },
    });
  }

  get size(): number {
    return this.#secrets.size;
  }

  /** Read this before the lookup, and pass it to `keep`. */
  get generation(): number {
    return this.#generation;
  }

  get(publicId: string): StoredSecret | undefined {
    return this.#secrets.get(publicId);
  }

  /** Caches a secret, unless a key has changed since `generation` was read before the lookup. */
  keep(generation: number, publicId: string, secret: StoredSecret): void {
    if (generation !== this.#generation) return;
    this.#secrets.set(publicId, secret);
    const ids = this.#ofAccount.get(secret.accountId) ?? new Set();
    this.#ofAccount.set(secret.accountId, ids.add(publicId));
  }

  forget(accountId: string): void {
    this.#generation += 1;
    for (const publicId of this.#ofAccount.get(accountId) ?? []) this.#secrets.delete(publicId);
  }

  clear(): void {
    this.#generation += 1;
    this.#secrets.clear();
  }
}
