/** Accounts. Changes that need the password check the proven hash again, in case it changed. Contract section 9. */
import { and, eq, isNull, type SQL, sql } from 'drizzle-orm';
import type { BillingPeriod } from '../../schemas/plans.ts';
import { type Db, sqlState } from '../database/client.ts';
import { accounts, apiKeys, sessions } from '../database/tables.ts';
import { newId } from '../domain/ids.ts';
import { ApiError } from '../errors.ts';
import { emailDigests, enterKeptUsage, keepFinalUsage, keepUsage } from './carried-usage.ts';
import { type EventSource, recordEvent } from './events.ts';

export type Account = typeof accounts.$inferSelect;

/** Proof that the client knew the password. Outdated once the password changes or the account is deleted. */
export type ProvenAccount = Pick<Account, 'id' | 'passwordHash'>;

const UNIQUE_VIOLATION = '23505';

const emailKeyOf = (email: string) => email.toLowerCase();

const living = (id: string): SQL | undefined => and(eq(accounts.id, id), isNull(accounts.deletedAt));

const proven = ({ id, passwordHash }: ProvenAccount): SQL | undefined =>
  and(living(id), eq(accounts.passwordHash, passwordHash));

/** @throws ApiError `emailTaken` if a living account has the address */
async function orEmailTaken<T>(statement: Promise<T>): Promise<T> {
  try {
    return await statement;
  } catch (error) {
    if (sqlState(error) === UNIQUE_VIOLATION) throw new ApiError('emailTaken', { param: 'email' });
    throw error;
  }
}

/** Creates an account. Today's usage under the email address carries over. Throws ApiError `emailTaken`. */
export async function createAccount(
  db: Db,
  account: Pick<Account, 'email' | 'passwordHash' | 'plan'>,
  from: EventSource,
): Promise<Account> {
  const emailKey = emailKeyOf(account.email);
  const digestOf = await emailDigests(db);
  return db.transaction(async (tx) => {
    const [created] = await orEmailTaken(
      tx
        .insert(accounts)
        .values({
          ...account,
          id: newId(),
          emailKey,
          billingPeriod: 'monthly',
          planChangedAt: sql`now()`,
          createdAt: sql`now()`,
        })
        .returning(),
    );
    if (created === undefined) throw new Error('An insert returned no row.');
    await enterKeptUsage(tx, { accountId: created.id, emailDigest: digestOf(emailKey) });
    await recordEvent(tx, { accountId: created.id, type: 'accountCreated', from });
    return created;
  });
}

/** Excludes deleted accounts. */
export async function findAccount(db: Db, id: string): Promise<Account | undefined> {
  const [account] = await db.select().from(accounts).where(living(id));
  return account;
}

/** Ignores case. Excludes deleted accounts. */
export async function findByEmail(db: Db, email: string): Promise<Account | undefined> {
  const [account] = await db
    .select()
    .from(accounts)
    .where(and(eq(accounts.emailKey, emailKeyOf(email)), isNull(accounts.deletedAt)));
  return account;
}

/** Today's usage also stays with the old address. Returns undefined if the proof is outdated. Throws `emailTaken`. */
export async function updateEmail(
  db: Db,
  account: ProvenAccount,
  email: string,
  from: EventSource,
): Promise<Account | undefined> {
  const emailKey = emailKeyOf(email);
  const digestOf = await emailDigests(db);
  return db.transaction(async (tx) => {
    const [before] = await tx
      .select({ emailKey: accounts.emailKey })
      .from(accounts)
      .where(proven(account))
      .for('no key update');
    if (before === undefined) return undefined;
    const [updated] = await orEmailTaken(
      tx.update(accounts).set({ email, emailKey }).where(proven(account)).returning(),
    );
    if (updated === undefined) return undefined;
    if (before.emailKey !== emailKey)
      await keepUsage(tx, { accountId: updated.id, emailDigest: digestOf(before.emailKey) });
    await recordEvent(tx, { accountId: updated.id, type: 'emailChanged', from, detail: email });
    return updated;
  });
}

/**
 * Ends all sessions, and resets the limits on failed sign-ins. A change by the owner also forgets known devices; a
 * reset by the operator (`from` null) does not. Returns undefined if the proof is outdated.
 */
export function updatePassword(
  db: Db,
  account: ProvenAccount,
  passwordHash: string,
  from: EventSource,
): Promise<Account | undefined> {
  return db.transaction(async (tx) => {
    const signInsResetAt = sql`now()`;
    const devices = from === null ? {} : { devicesResetAt: sql`now()` };
    const [updated] = await tx
      .update(accounts)
      .set({ passwordHash, signInsResetAt, ...devices })
      .where(proven(account))
      .returning();
    if (updated === undefined) return undefined;
    await tx.delete(sessions).where(eq(sessions.accountId, updated.id));
    const type = from === null ? 'passwordReset' : 'passwordChanged';
    await recordEvent(tx, { accountId: updated.id, type, from });
    return updated;
  });
}

/** `from` is null if the operator changes the plan. Returns undefined if the account no longer exists. */
export function setPlan(
  db: Db,
  id: string,
  plan: string,
  period: BillingPeriod,
  from: EventSource,
): Promise<Account | undefined> {
  return db.transaction(async (tx) => {
    const [account] = await tx.select().from(accounts).where(living(id)).for('no key update');
    if (account === undefined || (account.plan === plan && account.billingPeriod === period)) return account;
    const [updated] = await tx
      .update(accounts)
      .set({ plan, billingPeriod: period, planChangedAt: sql`now()` })
      .where(living(id))
      .returning();
    await recordEvent(tx, { accountId: id, type: 'planChanged', from, detail: `${plan}, ${period}` });
    return updated;
  });
}

/**
 * Suspends or resumes an account. Suspending ends its sessions and blocks its keys without revoking them. Returns
 * undefined if the account no longer exists.
 */
export function setSuspended(db: Db, id: string, isSuspended: boolean): Promise<Account | undefined> {
  return db.transaction(async (tx) => {
    const [account] = await tx.select().from(accounts).where(living(id)).for('no key update');
    if (account === undefined || (account.suspendedAt !== null) === isSuspended) return account;
    const [updated] = await tx
      .update(accounts)
      .set({ suspendedAt: isSuspended ? sql`now()` : null })
      .where(living(id))
      .returning();
    if (isSuspended) await tx.delete(sessions).where(eq(sessions.accountId, id));
    const type = isSuspended ? 'accountSuspended' : 'accountResumed';
    await recordEvent(tx, { accountId: id, type, from: null });
    return updated;
  });
}

/**
 * Updates the account's row first. Creating a key locks that row, so no key can appear after the revocation. Keeps
 * today's usage until midnight. Returns false if the proof is outdated.
 */
export async function deleteAccount(db: Db, account: ProvenAccount): Promise<boolean> {
  const digestOf = await emailDigests(db);
  return db.transaction(async (tx) => {
    const [deleted] = await tx
      .update(accounts)
      .set({ deletedAt: sql`now()` })
      .where(proven(account))
      .returning({ emailKey: accounts.emailKey });
    if (deleted === undefined) return false;
    await tx.delete(sessions).where(eq(sessions.accountId, account.id));
    await tx
      .update(apiKeys)
      .set({ revokedAt: sql`now()` })
      .where(and(eq(apiKeys.accountId, account.id), isNull(apiKeys.revokedAt)));
    await keepFinalUsage(tx, { accountId: account.id, emailDigest: digestOf(deleted.emailKey) });
    return true;
  });
}
