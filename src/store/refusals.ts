/** Refusals of known accounts, counted per minute, key, and code. Contract section 5. */
import { sql } from 'drizzle-orm';
import { deleteUpTo } from '../database/batches.ts';
import type { Db } from '../database/client.ts';
import { refusals } from '../database/tables.ts';
import { WEB_KEY } from './usage-history.ts';

export type RefusalCount = {
  accountId: string;
  keyId: string | null;
  code: string;
  status: number;
  count: number;
};

/** Drops counts of deleted accounts. */
export async function addRefusals(db: Db, counts: readonly RefusalCount[]): Promise<void> {
  const rows = counts.map(({ accountId, code, count, keyId, status }) => ({
    account_id: accountId,
    key_id: keyId ?? WEB_KEY,
    code,
    status,
    count,
  }));
  // Inserts in the order of the primary key, so that processes cannot deadlock.
  await db.execute(sql`
    insert into refusals (account_id, minute, key_id, code, status, count)
    select r.account_id, date_trunc('minute', clock.now_at), r.key_id, r.code, r.status, r.count
    from jsonb_to_recordset(${JSON.stringify(rows)}::text::jsonb)
           as r (account_id uuid, key_id uuid, code text, status smallint, count int)
    join accounts a on a.id = r.account_id and a.deleted_at is null
    cross join (select ledger_now() as now_at) clock
    order by r.account_id, r.key_id, r.code
    on conflict (account_id, minute, key_id, code) do update set count = refusals.count + excluded.count`);
}

/** `daysKept` includes today. */
export const deleteOldRefusals = (db: Db, daysKept: number, signal?: AbortSignal): Promise<void> =>
  deleteUpTo(
    db,
    refusals.minute,
    sql`(ledger_day(ledger_now()) - ${daysKept - 1}::int)::timestamp at time zone 'UTC' - interval '1 minute'`,
    signal,
  );
