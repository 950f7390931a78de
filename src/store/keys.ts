/** API keys and their secrets. Contract section 3. */
import { isDeepStrictEqual } from 'node:util';
import { and, count, desc, eq, getTableColumns, gt, isNull, or, type SQL, sql } from 'drizzle-orm';
import type { PgUpdateSetSource } from 'drizzle-orm/pg-core';
import { MAX_ACTIVE_KEYS } from '../../schemas/key-limits.ts';
import type { Scope } from '../../schemas/keys.ts';
import type { Database, Db } from '../database/client.ts';
import { accounts, apiKeys, keySecrets } from '../database/tables.ts';
import { keyCreated } from '../domain/notices.ts';
import { ApiError } from '../errors.ts';
import { type EventSource, recordEvent } from './events.ts';

export type ApiKeyRow = typeof apiKeys.$inferSelect & { previousSecretEndsAt: Date | null };

export type KeyId = { accountId: string; id: string };

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

/** A stored secret, and the facts that decide whether it may be used. Times are milliseconds since 1970. */
export type StoredSecret = {
  digest: Buffer;
  accountId: string;
  keyId: string;
  plan: string;
  scopes: Scope[];
  allowedOrigins: string[];
  /** The key was revoked, or the account was deleted. */
  isRevoked: boolean;
  /** The operator suspended the account. */
  isSuspended: boolean;
  endsAt: number | null;
  expiresAt: number | null;
};

export const isActive = (): SQL | undefined =>
  and(isNull(apiKeys.revokedAt), or(isNull(apiKeys.expiresAt), gt(apiKeys.expiresAt, sql`now()`)));

/** Truncated, so that it is never later than `now()`: time columns round to the nearest millisecond. */
export const endNow = sql`date_trunc('milliseconds', now())`;

/** Uses literal column names. In RETURNING, Drizzle omits the table name, which the subquery needs. */
const keyColumns = {
  ...getTableColumns(apiKeys),
  previousSecretEndsAt: sql<Date | null>`(
    select max(s.ends_at) from key_secrets s
    where s.account_id = api_keys.account_id and s.key_id = api_keys.id and s.ends_at > now()
      and api_keys.revoked_at is null and (api_keys.expires_at is null or api_keys.expires_at > now())
  )`.mapWith(keySecrets.endsAt),
};

export function listActiveKeys(db: Db, accountId: string): Promise<ApiKeyRow[]> {
  return db
    .select(keyColumns)
    .from(apiKeys)
    .where(and(eq(apiKeys.accountId, accountId), isActive()))
    .orderBy(desc(apiKeys.createdAt), desc(apiKeys.id));
}

/** Expired and revoked keys, the last to end first. */
export function listInactiveKeys(db: Db, accountId: string, limit: number): Promise<ApiKeyRow[]> {
  const endedAt = sql`least(${apiKeys.revokedAt}, ${apiKeys.expiresAt})`;
  return db
    .select(keyColumns)
    .from(apiKeys)
    .where(and(eq(apiKeys.accountId, accountId), sql`${endedAt} <= now()`))
    .orderBy(desc(endedAt), desc(apiKeys.id))
    .limit(limit);
}

/**
 * Locks the account's row while it counts keys, in a mode that does not block charges.
 *
 * @throws ApiError `apiKeyLimitReached` at `MAX_ACTIVE_KEYS`; `sessionRequired` if the account no longer exists
 */
export function createKey(db: Db, key: NewApiKey, from: EventSource): Promise<ApiKeyRow> {
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
    if (active !== undefined && active.count >= MAX_ACTIVE_KEYS) throw new ApiError('apiKeyLimitReached');

    const { digest, ...columns } = key;
    const [created] = await tx
      .insert(apiKeys)
      .values({ ...columns, createdAt: sql`now()` })
      .returning(keyColumns);
    await tx
      .insert(keySecrets)
      .values({ publicId: key.publicId, accountId: key.accountId, keyId: key.id, digest });
    if (created === undefined) throw new Error('An insert returned no row.');
    const { accountId, id: keyId, name: detail } = created;
    const notice = keyCreated(created);
    await recordEvent(tx, { accountId, type: 'keyCreated', from, keyId, detail, notice });
    return created;
  });
}

async function lockActiveKey(tx: Db, { accountId, id }: KeyId): Promise<ApiKeyRow | undefined> {
  const [row] = await tx
    .select(keyColumns)
    .from(apiKeys)
    .where(and(eq(apiKeys.accountId, accountId), eq(apiKeys.id, id), isActive()))
    .for('no key update');
  return row;
}

async function updateKey(
  tx: Db,
  { accountId, id }: KeyId,
  values: PgUpdateSetSource<typeof apiKeys>,
): Promise<ApiKeyRow> {
  const [updated] = await tx
    .update(apiKeys)
    .set(values)
    .where(and(eq(apiKeys.accountId, accountId), eq(apiKeys.id, id)))
    .returning(keyColumns);
  if (updated === undefined) throw new Error('A locked row was not updated.');
  return updated;
}

export function setAllowedOrigins(
  db: Db,
  key: KeyId,
  origins: string[],
  from: EventSource,
): Promise<ApiKeyRow | undefined> {
  return db.transaction(async (tx) => {
    const row = await lockActiveKey(tx, key);
    if (row === undefined || isDeepStrictEqual(row.allowedOrigins, origins)) return row;
    const { accountId, id: keyId, name } = row;
    await recordEvent(tx, { accountId, type: 'originsChanged', from, keyId, detail: name });
    return updateKey(tx, key, { allowedOrigins: origins });
  });
}

/** The current secret works for `graceSeconds` longer. An earlier one ends now, so at most one old secret works. */
export function rotateKey(
  db: Db,
  key: KeyId,
  secret: { publicId: string; digest: Buffer },
  graceSeconds: number,
  from: EventSource,
): Promise<ApiKeyRow | undefined> {
  return db.transaction(async (tx) => {
    const row = await lockActiveKey(tx, key);
    if (row === undefined) return undefined;
    const { accountId, id: keyId, name } = row;
    const { endsAt } = keySecrets;
    await tx
      .update(keySecrets)
      .set({
        endsAt: sql`case when ${endsAt} is null then ${endNow} + make_interval(secs => ${graceSeconds}::int) else ${endNow} end`,
      })
      .where(
        and(
          eq(keySecrets.accountId, accountId),
          eq(keySecrets.keyId, keyId),
          or(isNull(endsAt), gt(endsAt, sql`now()`)),
        ),
      );
    await tx.insert(keySecrets).values({ ...secret, accountId, keyId });
    await recordEvent(tx, { accountId, type: 'keyRotated', from, keyId, detail: name });
    return updateKey(tx, key, { publicId: secret.publicId });
  });
}

/** @returns whether an active key had an old secret that still worked */
export function endPreviousSecret(db: Db, key: KeyId, from: EventSource): Promise<boolean> {
  return db.transaction(async (tx) => {
    const row = await lockActiveKey(tx, key);
    if (row === undefined) return false;
    const { accountId, id: keyId, name } = row;
    const { endsAt, publicId } = keySecrets;
    const ended = await tx
      .update(keySecrets)
      .set({ endsAt: endNow })
      .where(and(eq(keySecrets.accountId, accountId), eq(keySecrets.keyId, keyId), gt(endsAt, sql`now()`)))
      .returning({ publicId });
    if (ended.length === 0) return false;
    await recordEvent(tx, { accountId, type: 'previousSecretEnded', from, keyId, detail: name });
    return true;
  });
}

/** Returns false if the key is not active. */
export function revokeKey(db: Db, key: KeyId, from: EventSource): Promise<boolean> {
  return db.transaction(async (tx) => {
    const row = await lockActiveKey(tx, key);
    if (row === undefined) return false;
    const { accountId, id: keyId, name } = row;
    await recordEvent(tx, { accountId, type: 'keyRevoked', from, keyId, detail: name });
    await updateKey(tx, key, { revokedAt: sql`now()` });
    return true;
  });
}

/** Finds a secret by its public ID. Also returns the database's time, in milliseconds since 1970. */
export async function findSecret(
  database: Pick<Database, 'prepared'>,
  publicId: string,
): Promise<{ secret: StoredSecret; readAt: number } | undefined> {
  const [row] = await database.prepared<StoredSecret & { digest: Uint8Array; readAt: number }>(FIND_SECRET, [
    publicId,
  ]);
  if (row === undefined) return undefined;
  const { digest, readAt, ...secret } = row;
  return { secret: { ...secret, digest: Buffer.from(digest) }, readAt };
}

const msOf = (time: string) => `(extract(epoch from ${time}) * 1000)::float8`;

/** Selects arrays as JSON, because the drivers parse arrays differently. */
const FIND_SECRET = `
  select s.digest, s.account_id as "accountId", s.key_id as "keyId", a.plan, to_jsonb(k.scopes) as scopes,
         to_jsonb(k.allowed_origins) as "allowedOrigins",
         (k.revoked_at is not null or a.deleted_at is not null) as "isRevoked",
         a.suspended_at is not null as "isSuspended",
         ${msOf('s.ends_at')} as "endsAt", ${msOf('k.expires_at')} as "expiresAt", ${msOf('now()')} as "readAt"
  from key_secrets s
  join api_keys k on k.account_id = s.account_id and k.id = s.key_id
  join accounts a on a.id = s.account_id
  where s.public_id = $1`;

export type KeyUse = KeyId & { ageMs: number };

/** Skips keys whose recorded use is at most 20 seconds older. Skips locked rows, so that no query waits. */
export async function recordKeyUses(db: Db, uses: readonly KeyUse[]): Promise<void> {
  const rows = uses.map(({ accountId, ageMs, id }) => ({ account_id: accountId, id, age_ms: ageMs }));
  await db.execute(sql`
    with used as (
      select u.account_id, u.id, now() - u.age_ms * interval '1 millisecond' as at
      from jsonb_to_recordset(${JSON.stringify(rows)}::text::jsonb) as u (account_id uuid, id uuid, age_ms float8)
    ), due as (
      select k.account_id, k.id, used.at
      from used join api_keys k on k.account_id = used.account_id and k.id = used.id
      where k.last_used_at is null or k.last_used_at < used.at - interval '20 seconds'
      for no key update of k skip locked
    )
    update api_keys k set last_used_at = due.at
    from due where k.account_id = due.account_id and k.id = due.id`);
}
