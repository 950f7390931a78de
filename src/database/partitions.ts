/**
 * Creates daily partitions of `requests` ahead of time, and drops old ones without blocking writers. On Postgres it
 * detaches them concurrently, outside a transaction. The next run finishes an interrupted one. Contract section 11.
 */
import { sql } from 'drizzle-orm';
import { type Database, type Db, rowsOf } from './client.ts';

export const PARTITION_DAYS_AHEAD = 7;

export const makePartitions = (db: Db): Promise<unknown> =>
  db.execute(sql`select ledger_make_partitions(${PARTITION_DAYS_AHEAD}::int)`);

type OldPartition = { name: string; state: 'attached' | 'detaching' | 'detached' };

const oldPartitions = (db: Db, daysKept: number): Promise<OldPartition[]> =>
  rowsOf<OldPartition>(
    db,
    sql`
      select c.relname as name,
             case when i.inhrelid is null then 'detached' when i.inhdetachpending then 'detaching' else 'attached' end as state
      from pg_class c
      left join pg_inherits i on i.inhrelid = c.oid and i.inhparent = 'requests'::regclass
      where c.relkind = 'r' and c.relnamespace = (select relnamespace from pg_class where oid = 'requests'::regclass)
        and c.relname ~ '^requests_[0-9]{8}$'
        and to_date(right(c.relname, 8), 'YYYYMMDD') <= ledger_day(ledger_now()) - ${daysKept}::int
      order by c.relname`,
  );

/** On Postgres, `db` must not have an open transaction. `daysKept` includes today. */
export async function dropOldPartitions(db: Db, kind: Database['kind'], daysKept: number): Promise<void> {
  const detach = { attached: sql`concurrently`, detaching: sql`finalize` };
  for (const { name, state } of await oldPartitions(db, daysKept)) {
    const partition = sql.identifier(name);
    if (kind === 'postgres' && state !== 'detached')
      await db.execute(sql`alter table requests detach partition ${partition} ${detach[state]}`);
    await db.execute(sql`drop table if exists ${partition}`);
  }
}
