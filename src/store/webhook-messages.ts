/** The outbox of messages to accounts' webhooks. Contract section 17, docs/decisions/0029-webhooks.md. */
import { and, desc, eq, isNull, type SQL, sql } from 'drizzle-orm';
import { deleteUpTo } from '../database/batches.ts';
import { type Db, rowsOf } from '../database/client.ts';
import { webhookMessages, webhooks } from '../database/tables.ts';
import { newId } from '../domain/ids.ts';
import { limitsOfPlans, type Notice, type ReachedThreshold, thresholds } from '../domain/notices.ts';
import type { PlanCatalog } from '../domain/plans.ts';

export type MessageRow = typeof webhookMessages.$inferSelect;

export const MESSAGE_DAYS = 30;
/** The most waiting messages per account. Later events send none, so that no endpoint makes the table grow forever. */
export const MAX_WAITING = 1000;
/** After this, the process that attempted a delivery counts as dead. Longer than any attempt takes. */
const LEASE_SECONDS = 60;

/**
 * Inserts a message if the account has an enabled webhook. Call it in the transaction of the event that it reports, so
 * that neither exists without the other. Returns the message's ID, or undefined if there is nothing to send.
 */
export async function addMessage(
  db: Db,
  accountId: string,
  { data, once, type }: Notice,
): Promise<string | undefined> {
  const id = newId();
  const [inserted] = await rowsOf<{ id: string }>(
    db,
    sql`
      insert into webhook_messages (account_id, id, at, type, data, once, status, attempts, due_at)
      select w.account_id, ${id}::uuid, now(), ${type}::text, ${JSON.stringify(data)}::text::json, ${once ?? null}::text,
             'pending', 0, now()
      from webhooks w
      join accounts a on a.id = w.account_id and a.deleted_at is null
      where w.account_id = ${accountId}::uuid and w.disabled_at is null
        and (select count(*) from webhook_messages m where m.account_id = w.account_id and m.due_at is not null)
            < ${MAX_WAITING}::int
      on conflict (account_id, once) where once is not null do nothing
      returning id`,
  );
  return inserted?.id;
}

export async function findMessage(db: Db, accountId: string, id: string): Promise<MessageRow | undefined> {
  const [row] = await db
    .select()
    .from(webhookMessages)
    .where(and(eq(webhookMessages.accountId, accountId), eq(webhookMessages.id, id)));
  return row;
}

/** Newest first. New messages come before all pages already read. */
export function listMessages(
  db: Db,
  accountId: string,
  limit: number,
  after?: { at: string; id: string },
): Promise<MessageRow[]> {
  const { at, id } = webhookMessages;
  const position: SQL | undefined =
    after && sql`(${at}, ${id}) < (${after.at}::timestamptz, ${after.id}::uuid)`;
  return db
    .select()
    .from(webhookMessages)
    .where(and(eq(webhookMessages.accountId, accountId), position))
    .orderBy(desc(at), desc(id))
    .limit(limit);
}

/** Thresholds that accounts with a webhook reached today and were not notified about, in order. */
export function thresholdsToReport(db: Db, plans: PlanCatalog): Promise<ReachedThreshold[]> {
  const limits = JSON.stringify(limitsOfPlans(plans));
  return rowsOf<ReachedThreshold>(
    db,
    sql`
      with clock as materialized (select ledger_day(ledger_now()) as day),
      known as (select jsonb_array_elements_text(${JSON.stringify(plans.plans.map(({ id }) => id))}::text::jsonb) as plan),
      limits as (
        select * from jsonb_to_recordset(${limits}::text::jsonb) as l (plan text, meter text, "limit" bigint)
      )
      select w.account_id as "accountId", u.meter, t.threshold, u.day::text as day, u.used::float8 as used,
             l."limit"::float8 as "limit"
      from clock
      cross join webhooks w
      join accounts a on a.id = w.account_id and a.deleted_at is null
      join usage_counters u on u.account_id = w.account_id and u.day = clock.day
      join limits l on l.meter = u.meter
       and l.plan = case when a.plan in (select plan from known) then a.plan else ${plans.standard.id}::text end
      cross join (select jsonb_array_elements_text(${JSON.stringify(thresholds)}::text::jsonb)::int as threshold) t
      where w.disabled_at is null and u.used * 100 >= l."limit" * t.threshold
        and not exists (
          select from webhook_messages m
          where m.account_id = w.account_id and m.once = u.day::text || ' ' || u.meter || ' ' || t.threshold
        )
      order by w.account_id, u.meter, t.threshold`,
  );
}

/**
 * A message that this process may now attempt once. `target` is undefined if the webhook or account was deleted, or the
 * webhook is disabled.
 */
export type Claim = {
  accountId: string;
  id: string;
  type: string;
  at: Date;
  data: unknown;
  /** The number of attempts, including this one. */
  attempts: number;
  /** The time of the attempt, by the database's clock. */
  sentAt: Date;
  target: { url: string; secrets: Buffer[] } | undefined;
};

/**
 * Claims the oldest due message of each account that is not in `busy`, for at most `count` accounts. Picks accounts at
 * random, so that those with a long queue do not starve the others.
 */
export async function claimMessages(db: Db, count: number, busy: readonly string[]): Promise<Claim[]> {
  type Row = {
    account_id: string;
    id: string;
    type: string;
    at: number;
    data: string;
    attempts: number;
    sent_at: number;
    url: string | null;
    secret: string | null;
    old_secret: string | null;
  };
  const rows = await rowsOf<Row>(
    db,
    sql`
      with firsts as (
        select distinct on (account_id) account_id, id from webhook_messages
        where due_at <= now() and account_id <> all (${`{${busy.join(',')}}`}::text::uuid[])
        order by account_id, due_at
      ), picked as (
        select account_id, id from firsts order by random() limit ${count}::int
      ), claimed as (
        update webhook_messages m
        set attempts = m.attempts + 1, last_attempt_at = now(), due_at = now() + make_interval(secs => ${LEASE_SECONDS}::int)
        from picked p
        where m.account_id = p.account_id and m.id = p.id and m.due_at <= now()
        returning m.account_id, m.id, m.type, m.at, m.data, m.attempts
      )
      select c.account_id, c.id, c.type, extract(epoch from c.at)::float8 * 1000 as at, c.data::text as data, c.attempts,
             extract(epoch from now())::float8 * 1000 as sent_at, w.url, encode(w.secret, 'base64') as secret,
             encode(case when w.old_secret_ends_at > now() then w.old_secret end, 'base64') as old_secret
      from claimed c
      left join (webhooks w join accounts a on a.id = w.account_id and a.deleted_at is null)
        on w.account_id = c.account_id and w.disabled_at is null`,
  );
  return rows.map(({ account_id, at, data, old_secret, secret, sent_at, url, ...row }) => ({
    ...row,
    accountId: account_id,
    at: new Date(at),
    data: typeof data === 'string' ? JSON.parse(data) : data,
    sentAt: new Date(sent_at),
    target:
      url === null
        ? undefined
        : {
            url,
            secrets: [secret, old_secret].flatMap((one) =>
              one === null ? [] : [Buffer.from(one, 'base64')],
            ),
          },
  }));
}

export type AttemptResult = {
  status: number | null;
  error: string | null;
  /** The delay before the next attempt; null for no further attempt. */
  retryInMs: number | null;
};

/** Does nothing if the lease expired and another process attempts the message. */
export async function finishAttempt(
  db: Db,
  { accountId, attempts, id }: Claim,
  { error, retryInMs, status }: AttemptResult,
): Promise<void> {
  const isOver = error === null ? 'delivered' : 'failed';
  await db
    .update(webhookMessages)
    .set({
      status: retryInMs === null ? isOver : 'pending',
      responseStatus: status,
      error,
      dueAt: retryInMs === null ? null : sql`now() + make_interval(secs => ${retryInMs / 1000}::float8)`,
    })
    .where(
      and(
        eq(webhookMessages.accountId, accountId),
        eq(webhookMessages.id, id),
        eq(webhookMessages.attempts, attempts),
        eq(webhookMessages.status, 'pending'),
      ),
    );
}

/**
 * Finishes an attempt at an endpoint that is gone. Unless the URL has changed, disables the webhook and fails its
 * waiting messages.
 */
export function disableWebhook(db: Db, claim: Claim, url: string, result: AttemptResult): Promise<void> {
  const { accountId } = claim;
  return db.transaction(async (tx) => {
    await finishAttempt(tx, claim, result);
    const disabled = await tx
      .update(webhooks)
      .set({ disabledAt: sql`now()` })
      .where(and(eq(webhooks.accountId, accountId), eq(webhooks.url, url), isNull(webhooks.disabledAt)))
      .returning({ url: webhooks.url });
    if (disabled.length === 0) return;
    await tx
      .update(webhookMessages)
      .set({ status: 'failed', dueAt: null, error: 'The endpoint returned 410 to another message.' })
      .where(and(eq(webhookMessages.accountId, accountId), eq(webhookMessages.status, 'pending')));
  });
}

export async function countWaiting(db: Db): Promise<number> {
  const [row] = await rowsOf<{ count: number }>(
    db,
    sql`select count(*)::int as count from webhook_messages where due_at is not null`,
  );
  return row?.count ?? 0;
}

export const deleteOldMessages = (db: Db, signal?: AbortSignal): Promise<void> =>
  deleteUpTo(db, webhookMessages.at, sql`now() - make_interval(days => ${MESSAGE_DAYS}::int)`, signal);
