/** Today's usage, by the database's clock. Contract section 2. */
import { sql } from 'drizzle-orm';
import { type Db, rowsOf } from '../database/client.ts';

export type UsageReading = {
  plan: string;
  used: { chat: number; images: number; search: number; tokens: number };
  readAt: Date;
};

/** Undefined if the account is gone. */
export async function readUsage(db: Db, accountId: string): Promise<UsageReading | undefined> {
  type Row = { plan: string; read_at: string; used: Partial<UsageReading['used']> };
  const [row] = await rowsOf<Row>(
    db,
    sql`
      with clock as materialized (select ledger_now() as read_at)
      select a.plan, clock.read_at,
             (select coalesce(jsonb_object_agg(u.meter, u.used), '{}') from usage_counters u
              where u.account_id = a.id and u.day = ledger_day(clock.read_at)) as used
      from accounts a, clock
      where a.id = ${accountId} and a.deleted_at is null`,
  );
  if (row === undefined) return undefined;
  return {
    plan: row.plan,
    readAt: new Date(row.read_at),
    used: { chat: 0, images: 0, search: 0, tokens: 0, ...row.used },
  };
}
