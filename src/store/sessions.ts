/**
 * Sessions: who is signed in where. Their lifetimes are judged here, by the database's clock, and nowhere else.
 * Contract section 9.
 */
import { createHash } from 'node:crypto';
import { and, desc, eq, gt, isNull, lte, type SQL, sql } from 'drizzle-orm';
import { v7 as uuidv7 } from 'uuid';
import type { ProvenAccount } from './accounts.ts';
import { deleteAll } from './batches.ts';
import { type Db, rowsOf } from './client.ts';
import { accounts, sessions } from './tables.ts';

/** A session ends so long after it began, however much it is used. */
export const ABSOLUTE_DAYS = 30;
/** A session ends when it was not used for so long. */
export const IDLE_DAYS = 7;

/** Whose session it is, and the id under which its owner may end it; never the secret id in the cookie. */
export type SessionKey = { accountId: string; id: string };

/** A living session, and the plan of its account. */
export type FoundSession = SessionKey & { plan: string };

export type ListedSession = {
  id: string;
  createdAt: Date;
  lastSeenAt: Date;
  address: string;
  userAgent: string;
};

/** What is stored of the secret id. */
const digestOf = (secretId: string) => createHash('sha256').update(secretId).digest();

const before = (days: number) => sql`now() - make_interval(days => ${days}::int)`;

const lives = (): SQL | undefined =>
  and(gt(sessions.createdAt, before(ABSOLUTE_DAYS)), gt(sessions.lastSeenAt, before(IDLE_DAYS)));

const wasNotSeenForAnHour = (): SQL => lte(sessions.lastSeenAt, sql`now() - interval '1 hour'`);

/**
 * Begins a session, and forgets those of the account that have ended.
 *
 * @param account - who signs in, and the password hash that proved it
 * @param secretId - what the cookie holds; only its digest is stored
 * @param from - where the account signs in from, for its owner to read
 * @returns false when the password was changed or the account deleted since
 */
export async function createSession(
  db: Db,
  account: ProvenAccount,
  secretId: string,
  from: { address: string; userAgent: string },
): Promise<boolean> {
  await db.delete(sessions).where(and(eq(sessions.accountId, account.id), sql`not (${lives()})`));
  // The lock makes this wait for a change of the password that is under way, and then judge what that left.
  const created = await rowsOf(
    db,
    sql`insert into sessions (account_id, id, digest, created_at, last_seen_at, address, user_agent)
        select id, ${uuidv7()}::uuid, ${digestOf(secretId)}::bytea, now(), now(), ${from.address}::text, ${from.userAgent}::text
        from accounts
        where id = ${account.id}::uuid and deleted_at is null and password_hash = ${account.passwordHash}::text
        for share
        returning id`,
  );
  return created.length > 0;
}

/**
 * Finds the session of a secret id, unless it has ended or its account is gone. Once an hour this counts as use
 * and keeps it from going idle.
 */
export async function findSession(db: Db, secretId: string): Promise<FoundSession | undefined> {
  const [found] = await db
    .select({
      accountId: sessions.accountId,
      id: sessions.id,
      plan: accounts.plan,
      isDue: sql<boolean>`${wasNotSeenForAnHour()}`,
    })
    .from(sessions)
    .innerJoin(accounts, and(eq(accounts.id, sessions.accountId), isNull(accounts.deletedAt)))
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

/** Ends the session of a secret id, if there is one. */
export async function endSession(db: Db, secretId: string): Promise<void> {
  await db.delete(sessions).where(eq(sessions.digest, digestOf(secretId)));
}

/** Where an account is signed in, the newest session first. */
export function listSessions(db: Db, accountId: string): Promise<ListedSession[]> {
  const { address, createdAt, id, lastSeenAt, userAgent } = sessions;
  return db
    .select({ id, createdAt, lastSeenAt, address, userAgent })
    .from(sessions)
    .where(and(eq(sessions.accountId, accountId), lives()))
    .orderBy(desc(createdAt), desc(id));
}

/** Ends one session of an account from elsewhere. Returns whether the account had it. */
export async function endListedSession(db: Db, { accountId, id }: SessionKey): Promise<boolean> {
  const ended = await db
    .delete(sessions)
    .where(and(eq(sessions.accountId, accountId), eq(sessions.id, id), lives()))
    .returning({ id: sessions.id });
  return ended.length > 0;
}

/** Forgets the sessions that have ended. */
export const deleteEndedSessions = (db: Db, signal?: AbortSignal): Promise<void> =>
  deleteAll(db, sessions, sql`not (${lives()})`, signal);
