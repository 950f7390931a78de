/** Accounts' webhooks. Contract section 17, docs/decisions/0029-webhooks.md. */
import { and, eq, isNull, sql } from 'drizzle-orm';
import type { Db } from '../database/client.ts';
import { accounts, webhookMessages, webhooks } from '../database/tables.ts';
import { ApiError } from '../errors.ts';
import { type EventSource, recordEvent } from './events.ts';

export type WebhookRow = typeof webhooks.$inferSelect;

const OLD_SECRET_HOURS = 24;

export async function findWebhook(db: Db, accountId: string): Promise<WebhookRow | undefined> {
  const [row] = await db.select().from(webhooks).where(eq(webhooks.accountId, accountId));
  return row;
}

/** Locks the account's row, so that the account cannot be deleted meanwhile. */
async function assertAccount(tx: Db, accountId: string): Promise<void> {
  const [account] = await tx
    .select({ id: accounts.id })
    .from(accounts)
    .where(and(eq(accounts.id, accountId), isNull(accounts.deletedAt)))
    .for('no key update');
  if (account === undefined) throw new ApiError('sessionRequired');
}

/**
 * Sets the URL, and enables the webhook again. Only a new webhook gets `secret`.
 *
 * @throws ApiError `sessionRequired` if the account no longer exists
 */
export function putWebhook(
  db: Db,
  accountId: string,
  url: string,
  secret: Buffer,
  from: EventSource,
): Promise<{ row: WebhookRow; isNew: boolean }> {
  return db.transaction(async (tx) => {
    await assertAccount(tx, accountId);
    const earlier = await findWebhook(tx, accountId);
    const [row] = await tx
      .insert(webhooks)
      .values({ accountId, url, secret, createdAt: sql`now()` })
      .onConflictDoUpdate({ target: webhooks.accountId, set: { url, disabledAt: null } })
      .returning();
    if (row === undefined) throw new Error('An upsert returned no row.');
    // Record only the host, because a URL's path can hold secrets.
    const detail = new URL(url).host;
    if (earlier?.url !== url || earlier.disabledAt !== null)
      await recordEvent(tx, { accountId, type: 'webhookChanged', from, detail });
    return { row, isNew: row.secret.equals(secret) };
  });
}

/** The old secret also signs for one more day, so that receivers can replace it without a gap. */
export function rotateSecret(
  db: Db,
  accountId: string,
  secret: Buffer,
  from: EventSource,
): Promise<WebhookRow | undefined> {
  return db.transaction(async (tx) => {
    const [row] = await tx
      .update(webhooks)
      .set({
        secret,
        oldSecret: sql`${webhooks.secret}`,
        oldSecretEndsAt: sql`now() + make_interval(hours => ${OLD_SECRET_HOURS}::int)`,
      })
      .where(eq(webhooks.accountId, accountId))
      .returning();
    if (row !== undefined) await recordEvent(tx, { accountId, type: 'webhookSecretReplaced', from });
    return row;
  });
}

/** Deletes the webhook and its messages. Returns whether the account had a webhook. */
export function deleteWebhook(db: Db, accountId: string, from: EventSource): Promise<boolean> {
  return db.transaction(async (tx) => {
    const deleted = await tx
      .delete(webhooks)
      .where(eq(webhooks.accountId, accountId))
      .returning({ url: webhooks.url });
    await tx.delete(webhookMessages).where(eq(webhookMessages.accountId, accountId));
    if (deleted.length === 0) return false;
    await recordEvent(tx, { accountId, type: 'webhookDeleted', from });
    return true;
  });
}
