/** The database's clock, which determines the day of every charge. */
import { sql } from 'drizzle-orm';
import type { Db } from '../../src/database/client.ts';

/**
 * Shifts the ledger's clock.
 *
 * @param by - a Postgres interval, such as `1 day`; negative to set the clock back
 */
export const shiftClock = (db: Db, by: string) =>
  db.execute(
    sql.raw(`create or replace function ledger_now() returns timestamptz language sql volatile
             as $$ select clock_timestamp() + interval '${by}' $$`),
  );
