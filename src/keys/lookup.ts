/**
 * Looks up API keys, in the cache if it hears of all changes, or in the database. Contract section 3, decision 0011.
 */
import type { Database } from '../database/client.ts';
import { parseApiKey, sameDigest } from '../domain/api-key.ts';
import { KeyChanges } from '../store/key-changes.ts';
import { findSecret, type StoredSecret } from '../store/keys.ts';
import { Metrics } from '../telemetry/metrics.ts';
import { type IdentifiedKey, invalidApiKey } from './access.ts';
import { KeyCache } from './cache.ts';
import { KeyUses } from './last-use.ts';

type Log = ConstructorParameters<typeof KeyChanges>[2] & ConstructorParameters<typeof KeyUses>[1];

const isOver = (end: number | null, now: number) => end !== null && end <= now;

const judged = (secret: StoredSecret, now: number): IdentifiedKey => ({
  accountId: secret.accountId,
  keyId: secret.keyId,
  plan: secret.plan,
  scopes: secret.scopes,
  allowedOrigins: secret.allowedOrigins,
  isRevoked: secret.isRevoked || isOver(secret.endsAt, now),
  isSuspended: secret.isSuspended,
  isExpired: isOver(secret.expiresAt, now),
});

export class KeyLookup {
  readonly #database: Database;
  readonly #changes: KeyChanges;
  readonly #uses: KeyUses;
  readonly #cache = new KeyCache();
  readonly #metrics: Metrics;

  /** @param directUrl - Postgres only: bypasses transaction poolers, which LISTEN requires */
  constructor(database: Database, directUrl: string | undefined, log: Log, metrics = new Metrics()) {
    this.#metrics = metrics;
    this.#database = database;
    this.#changes = new KeyChanges(database, directUrl, log);
    this.#uses = new KeyUses(database.db, log);
  }

  async start(): Promise<void> {
    this.#uses.start();
    await this.#changes.start({
      onChange: (accountId) => this.#cache.forget(accountId),
      onGap: () => this.#cache.clear(),
    });
  }

  async stop(): Promise<void> {
    await this.#changes.stop();
    await this.#uses.stop();
  }

  /** Returns undefined for an unknown key. Throws `invalidApiKey`, without a query, for a malformed one. */
  async identify(rawKey: string): Promise<IdentifiedKey | undefined> {
    const parsed = parseApiKey(rawKey);
    if (parsed === null) throw invalidApiKey();
    const { digest, publicId } = parsed;
    const now = this.#changes.now();
    const kept = now === undefined ? undefined : this.#cache.get(publicId);
    if (now !== undefined && kept !== undefined) {
      const isKnown = sameDigest(kept.digest, digest);
      this.#metrics.keyLookups.inc({ result: isKnown ? 'cached' : 'unknown' });
      return isKnown ? judged(kept, now) : undefined;
    }

    const { generation } = this.#cache;
    const found = await findSecret(this.#database, publicId);
    const isKnown = found !== undefined && sameDigest(found.secret.digest, digest);
    this.#metrics.keyLookups.inc({ result: isKnown ? 'read' : 'unknown' });
    if (!isKnown) return undefined;
    // While the cache may not be used, a secret in it would only take up memory.
    if (this.#changes.now() !== undefined) this.#cache.keep(generation, publicId, found.secret);
    return judged(found.secret, found.readAt);
  }

  noteUse({ accountId, keyId }: Pick<IdentifiedKey, 'accountId' | 'keyId'>): void {
    this.#uses.note(accountId, keyId);
  }

  forget(accountId: string): void {
    this.#cache.forget(accountId);
  }
}
