/**
 * Compares counters with charges. By account, day, and meter, a counter equals the units of all charges not refunded.
 * The token counter equals the reported, reserved, and excess tokens. Contract sections 5 and 15.
 */
import { sql } from 'drizzle-orm';
import { type Db, rowsOf } from '../database/client.ts';

export type Difference = { accountId: string; day: string; meter: string; charged: number; used: number };

export type Audit = {
  differences: Difference[];
  counters: number;
  open: number;
};

/** Reads one snapshot, so it can run at any time. */
export async function audit(db: Db): Promise<Audit> {
  type Row = { account_id: string; day: string; meter: string; charged: string; used: string };
  return db.transaction(async (tx) => {
    await tx.execute(sql`set transaction isolation level repeatable read, read only`);
    const rows = await rowsOf<Row>(
      tx,
      sql`
        with deleted as (
          select id from accounts where deleted_at is not null
        ), charged as (
          select account_id, day, meter, sum(units) as units from requests
          where state <> 'refunded' and account_id not in (select id from deleted)
          group by 1, 2, 3
          union all
          select r.account_id, r.day, t.meter, sum(t.amount) from requests r
          cross join lateral (values
            ('tokens', coalesce(r.input_tokens, 0)::bigint + coalesce(r.output_tokens, 0)
              + case when r.tokens_assumed then coalesce(r.reserved_tokens, 0) else 0 end),
            ('tokens reserved', case when r.tokens_assumed then 0 else coalesce(r.reserved_tokens, 0) end),
            ('tokens in excess', coalesce((r.details ->> 'excess_tokens')::bigint, 0))
          ) as t (meter, amount)
          where r.account_id not in (select id from deleted) and t.amount <> 0
          group by 1, 2, 3
        ), kept as (
          select u.account_id, u.day, c.meter, c.used from usage_counters u
          cross join lateral (values
            (u.meter, u.used), ('tokens reserved', u.reserved), ('tokens in excess', u.excess)
          ) as c (meter, used)
          where (c.meter = u.meter or u.meter = 'tokens') and account_id not in (select id from deleted) and day >= (
            select min(to_date(right(inhrelid::regclass::text, 8), 'YYYYMMDD')) from pg_inherits
            where inhparent = 'requests'::regclass and not inhdetachpending)
        )
        select account_id, day::text, meter, coalesce(c.units, 0)::text as charged, coalesce(k.used, 0)::text as used
        from charged c full join kept k using (account_id, day, meter)
        where coalesce(c.units, 0) <> coalesce(k.used, 0)
        order by day, account_id, meter`,
    );
    const [counts] = await rowsOf<{ counters: string; open: string }>(
      tx,
      sql`select (select count(*) from usage_counters where meter <> 'tokens')::text as counters,
                 (select count(*) from requests where state = 'admitted')::text as open`,
    );
    return {
      differences: rows.map(({ account_id: accountId, charged, day, meter, used }) => ({
        accountId,
        day,
        meter,
        charged: Number(charged),
        used: Number(used),
      })),
      counters: Number(counts?.counters ?? 0),
      open: Number(counts?.open ?? 0),
    };
  });
}
