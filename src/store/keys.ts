/** API keys and their secrets. Contract section 3. */
import { and, count, desc, eq, gt, isNull, or, type SQL, sql } from 'drizzle-orm';
import type { Scope } from '../../schemas/keys.ts';
import { ApiError } from '../errors.ts';
import { type Db, rowsOf } from './client.ts';
import { accounts, apiKeys, keySecrets } from './tables.ts';

/** Active keys that an account may have. */
export const ACTIVE_KEY_LIMIT = 5;

export type ApiKeyRow = typeof apiKeys.$inferSelect;

/** What is stored of a new key. */
export type NewApiKey = {
  accountId: string;
  id: string;
  name: string;
  scopes: Scope[];
  allowedOrigins: string[];
  expiresAt: Date | null;
  publicId: string;
  digest: Buffer;
};

/** A secret as found by its public id, with what decides whether it may be used; times by the database's clock. */
export type StoredSecret = {
  digest: Buffer;
  accountId: string;
  keyId: string;
  /** The account's plan. */
  plan: string;
  scopes: Scope[];
  allowedOrigins: string[];
  /** The key was revoked, the secret's grace is over, or the account was deleted. */
  isRevoked: boolean;
  isExpired: boolean;
  /** Its last use was recorded within the last minute. */
  wasUsedThisMinute: boolean;
};

const isActive = (): SQL | undefined =>
  and(isNull(apiKeys.revokedAt), or(isNull(apiKeys.expiresAt), gt(apiKeys.expiresAt, sql`now()`)));

/** The active keys of an account, newest first. */
export function listActiveKeys(db: Db, accountId: string): Promise<ApiKeyRow[]> {
  return db
    .select()
    .from(apiKeys)
    .where(and(eq(apiKeys.accountId, accountId), isActive()))
    .orderBy(desc(apiKeys.createdAt), desc(apiKeys.id));
}

/**
 * Creates a key, unless the account has 5 active ones. The account's row is locked while counting, in the mode
 * that charges do not wait for.
 *
 * @throws ApiError `apiKeyLimitReached`; `sessionRequired` when the account is gone
 */
export function createKey(db: Db, key: NewApiKey): Promise<ApiKeyRow> {
  return db.transaction(async (tx) => {
    const [account] = await tx
      .select({ id: accounts.id })
      .from(accounts)
      .where(and(eq(accounts.id, key.accountId), isNull(accounts.deletedAt)))
      .for('no key update');
    if (account === undefined) throw new ApiError('sessionRequired');

    const [active] = await tx
      .select({ count: count() })
      .from(apiKeys)
      .where(and(eq(apiKeys.accountId, key.accountId), isActive()));
    if (active !== undefined && active.count >= ACTIVE_KEY_LIMIT) throw new ApiError('apiKeyLimitReached');

    const { digest, ...columns } = key;
    const [created] = await tx
      .insert(apiKeys)
      .values({ ...columns, createdAt: sql`now()` })
      .returning();
    await tx
      .insert(keySecrets)
      .values({ publicId: key.publicId, accountId: key.accountId, keyId: key.id, digest });
    if (created === undefined) throw new Error('An insert returned no row.');
    return created;
  });
}

/** Replaces the allowed origins of an active key; undefined when the account has no such key. */
export async function setAllowedOrigins(
  db: Db,
  accountId: string,
  id: string,
  origins: string[],
): Promise<ApiKeyRow | undefined> {
  const [updated] = await db
    .update(apiKeys)
    .set({ allowedOrigins: origins })
    .where(and(eq(apiKeys.accountId, accountId), eq(apiKeys.id, id), isActive()))
    .returning();
  return updated;
}

/** Revokes an active key. Returns whether the account had it. */
export async function revokeKey(db: Db, accountId: string, id: string): Promise<boolean> {
  const revoked = await db
    .update(apiKeys)
    .set({ revokedAt: sql`now()` })
    .where(and(eq(apiKeys.accountId, accountId), eq(apiKeys.id, id), isActive()))
    .returning({ id: apiKeys.id });
  return revoked.length > 0;
}

/** Looks a secret up by its public id. */
export async function findSecret(db: Db, publicId: string): Promise<StoredSecret | undefined> {
  const [row] = await db
    .select({
      digest: keySecrets.digest,
      accountId: keySecrets.accountId,
      keyId: keySecrets.keyId,
      plan: accounts.plan,
      scopes: apiKeys.scopes,
      allowedOrigins: apiKeys.allowedOrigins,
      isRevoked: sql<boolean>`${apiKeys.revokedAt} is not null or ${accounts.deletedAt} is not null or coalesce(${keySecrets.endsAt} <= now(), false)`,
      isExpired: sql<boolean>`coalesce(${apiKeys.expiresAt} <= now(), false)`,
      wasUsedThisMinute: sql<boolean>`coalesce(${apiKeys.lastUsedAt} > now() - interval '1 minute', false)`,
    })
    .from(keySecrets)
    .innerJoin(apiKeys, and(eq(apiKeys.accountId, keySecrets.accountId), eq(apiKeys.id, keySecrets.keyId)))
    .innerJoin(accounts, eq(accounts.id, keySecrets.accountId))
    .where(eq(keySecrets.publicId, publicId));
  return row;
}

/** Records that a key is in use, at most once a minute. */
export async function touchKey(db: Db, accountId: string, id: string): Promise<void> {
  await rowsOf(
    db,
    sql`update api_keys set last_used_at = now()
        where account_id = ${accountId} and id = ${id}
          and (last_used_at is null or last_used_at <= now() - interval '1 minute')`,
  );
}
