/** Sessions. Only this file checks their lifetimes, by the database's clock. Contract section 9. */
import { createHash } from 'node:crypto';
import { and, desc, eq, gt, inArray, isNull, lte, type SQL, sql } from 'drizzle-orm';
import { deleteUpTo } from '../database/batches.ts';
import { type Db, rowsOf } from '../database/client.ts';
import { accounts, sessions } from '../database/tables.ts';
import { newId } from '../domain/ids.ts';
import { signedInFromNewDevice } from '../domain/notices.ts';
import type { ProvenAccount } from './accounts.ts';
import { type EventSource, recordEvent } from './events.ts';

export const ABSOLUTE_DAYS = 30;
export const IDLE_DAYS = 7;
/** The limit per account. A sign-in beyond it ends the least recently used sessions. */
export const MAX_SESSIONS = 500;

/** `id` lets the owner end the session. It is not the secret ID in the cookie. */
export type SessionKey = { accountId: string; id: string };

export type FoundSession = SessionKey & { plan: string };

export type ListedSession = {
  id: string;
  createdAt: Date;
  lastSeenAt: Date;
  address: string;
  userAgent: string;
};

const digestOf = (secretId: string) => createHash('sha256').update(secretId).digest();

const before = (days: number) => sql`now() - make_interval(days => ${days}::int)`;

const lives = (): SQL | undefined =>
  and(gt(sessions.createdAt, before(ABSOLUTE_DAYS)), gt(sessions.lastSeenAt, before(IDLE_DAYS)));

const wasNotSeenForAnHour = (): SQL => lte(sessions.lastSeenAt, sql`now() - interval '1 hour'`);

async function makeRoom(db: Db, accountId: string): Promise<void> {
  const isOf = eq(sessions.accountId, accountId);
  await db.delete(sessions).where(and(isOf, sql`not (${lives()})`));
  const tooMany = db
    .select({ id: sessions.id })
    .from(sessions)
    .where(isOf)
    .orderBy(desc(sessions.lastSeenAt), desc(sessions.id))
    .offset(MAX_SESSIONS - 1);
  await db.delete(sessions).where(and(isOf, inArray(sessions.id, tooMany)));
}

/** `isNewDevice`: whether to notify the owner. */
export type SignIn = { isNewDevice: boolean };

/** Returns false if the proof is outdated. `signIn` is null if another event in the audit trail covers the sign-in. */
export async function createSession(
  db: Db,
  account: ProvenAccount,
  secretId: string,
  from: NonNullable<EventSource>,
  signIn: SignIn | null,
): Promise<boolean> {
  // Outside the transaction, because a password change locks the account's row before its sessions.
  await makeRoom(db, account.id);
  return db.transaction(async (tx) => {
    // The lock waits for a concurrent password change, then checks the new hash.
    const created = await rowsOf(
      tx,
      sql`insert into sessions (account_id, id, digest, created_at, last_seen_at, address, user_agent)
          select id, ${newId()}::uuid, ${digestOf(secretId)}::bytea, now(), now(), ${from.address}::text, ${from.userAgent}::text
          from accounts
          where id = ${account.id}::uuid and deleted_at is null and suspended_at is null
            and password_hash = ${account.passwordHash}::text
          for share
          returning id`,
    );
    if (created.length === 0) return false;
    if (signIn !== null) {
      const notice = signIn.isNewDevice ? signedInFromNewDevice(from) : undefined;
      await recordEvent(tx, { accountId: account.id, type: 'signedIn', from, notice });
    }
    return true;
  });
}

/** Finds a live session. At most once an hour, this records its use, which keeps it from going idle. */
export async function findSession(db: Db, secretId: string): Promise<FoundSession | undefined> {
  const [found] = await db
    .select({
      accountId: sessions.accountId,
      id: sessions.id,
      plan: accounts.plan,
      isDue: sql<boolean>`${wasNotSeenForAnHour()}`,
    })
    .from(sessions)
    .innerJoin(
      accounts,
      and(eq(accounts.id, sessions.accountId), isNull(accounts.deletedAt), isNull(accounts.suspendedAt)),
    )
    .where(and(eq(sessions.digest, digestOf(secretId)), lives()));
  if (found === undefined) return undefined;
  const { accountId, id, isDue, plan } = found;
  if (isDue) {
    await db
      .update(sessions)
      .set({ lastSeenAt: sql`now()` })
      .where(and(eq(sessions.accountId, accountId), eq(sessions.id, id), wasNotSeenForAnHour()));
  }
  return { accountId, id, plan };
}

export async function endSession(db: Db, secretId: string): Promise<void> {
  await db.delete(sessions).where(eq(sessions.digest, digestOf(secretId)));
}

export function listSessions(db: Db, accountId: string): Promise<ListedSession[]> {
  const { address, createdAt, id, lastSeenAt, userAgent } = sessions;
  return db
    .select({ id, createdAt, lastSeenAt, address, userAgent })
    .from(sessions)
    .where(and(eq(sessions.accountId, accountId), lives()))
    .orderBy(desc(createdAt), desc(id))
    .limit(MAX_SESSIONS);
}

/** `event` is `signedOut` for that device, `sessionEnded` for others. Returns whether the account had the session. */
export function endListedSession(
  db: Db,
  { accountId, id }: SessionKey,
  event: 'signedOut' | 'sessionEnded',
  from: NonNullable<EventSource>,
): Promise<boolean> {
  return db.transaction(async (tx) => {
    const [ended] = await tx
      .delete(sessions)
      .where(and(eq(sessions.accountId, accountId), eq(sessions.id, id), lives()))
      .returning({ address: sessions.address });
    if (ended === undefined) return false;
    const detail = event === 'sessionEnded' ? { detail: ended.address } : {};
    await recordEvent(tx, { accountId, type: event, from, ...detail });
    return true;
  });
}

export async function deleteEndedSessions(db: Db, signal?: AbortSignal): Promise<void> {
  await deleteUpTo(db, sessions.createdAt, before(ABSOLUTE_DAYS), signal);
  await deleteUpTo(db, sessions.lastSeenAt, before(IDLE_DAYS), signal);
}
