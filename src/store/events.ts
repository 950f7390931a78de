/** The account's audit trail. Contract section 1. */
import { and, desc, eq, gt, type SQL, sql } from 'drizzle-orm';
import type { AccountEventType } from '../../schemas/events.ts';
import { deleteUpTo } from '../database/batches.ts';
import type { Db } from '../database/client.ts';
import { accountEvents } from '../database/tables.ts';
import { newId } from '../domain/ids.ts';
import type { Notice } from '../domain/notices.ts';
import { addMessage } from './webhook-messages.ts';

export const EVENT_DAYS = 365;

/** The origin of a request; null for actions of the operator or the service. */
export type EventSource = { address: string; userAgent: string } | null;

export type NewAccountEvent = {
  accountId: string;
  type: AccountEventType;
  from: EventSource;
  keyId?: string;
  /** What changed, in a few words, such as a key's name or a plan. Never a secret. */
  detail?: string;
  /** The notice for the account's webhook, if it has one. */
  notice?: Notice | undefined;
};

export type AccountEventRow = typeof accountEvents.$inferSelect;

/** Records an event, in the transaction of the change if there is one. Records nothing for deleted accounts. */
export async function recordEvent(
  db: Db,
  { accountId, detail, from, keyId, notice, type }: NewAccountEvent,
): Promise<void> {
  await db.execute(sql`
    insert into account_events (account_id, id, at, type, address, user_agent, key_id, detail)
    select id, ${newId()}::uuid, now(), ${type}::text, ${from?.address ?? null}::text, ${from?.userAgent ?? null}::text,
           ${keyId ?? null}::uuid, ${detail ?? null}::text
    from accounts where id = ${accountId}::uuid and deleted_at is null`);
  if (notice !== undefined) await addMessage(db, accountId, notice);
}

export async function wasRecorded(
  db: Db,
  accountId: string,
  type: AccountEventType,
  keyId: string,
  hours: number,
): Promise<boolean> {
  const { at, id } = accountEvents;
  const rows = await db
    .select({ id })
    .from(accountEvents)
    .where(
      and(
        eq(accountEvents.accountId, accountId),
        eq(accountEvents.type, type),
        eq(accountEvents.keyId, keyId),
        gt(at, sql`now() - make_interval(hours => ${hours}::int)`),
      ),
    )
    .limit(1);
  return rows.length > 0;
}

/** Newest first. New events come before all pages already read. */
export function listEvents(
  db: Db,
  accountId: string,
  limit: number,
  after?: { at: string; id: string },
): Promise<AccountEventRow[]> {
  const { at, id } = accountEvents;
  const position: SQL | undefined =
    after && sql`(${at}, ${id}) < (${after.at}::timestamptz, ${after.id}::uuid)`;
  return db
    .select()
    .from(accountEvents)
    .where(and(eq(accountEvents.accountId, accountId), position))
    .orderBy(desc(at), desc(id))
    .limit(limit);
}

export const deleteOldEvents = (db: Db, signal?: AbortSignal): Promise<void> =>
  deleteUpTo(db, accountEvents.at, sql`now() - make_interval(days => ${EVENT_DAYS}::int)`, signal);
