/** The database's clock, by which everything is charged. */
import { sql } from 'drizzle-orm';
import type { Db } from '../../src/database/client.ts';

/** Has the ledger's clock run ahead or, with a minus, behind, e.g. by `1 day`. */
export const shiftClock = (db: Db, by: string) =>
  db.execute(
    sql.raw(`create or replace function ledger_now() returns timestamptz language sql volatile
             as $$ select clock_timestamp() + interval '${by}' $$`),
  );
