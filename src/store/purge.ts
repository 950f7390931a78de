/** Deletes the remaining rows of deleted accounts. Contract section 9. */
import { is, type SQL, sql } from 'drizzle-orm';
import { getTableConfig, PgTable } from 'drizzle-orm/pg-core';
import { deleteAll } from '../database/batches.ts';
import { type Db, mayHaveTakenEffect, rowsOf, wasNotSent } from '../database/client.ts';
import * as tables from '../database/tables.ts';

/** After this, requests that were being verified during the deletion have ended or been rejected. */
const BEGINS_AFTER = sql`interval '1 minute'`;
/** After this, no process that knew the account can still write: its leases and retries have expired. */
const ENDS_AFTER = sql`interval '10 minutes'`;
const ACCOUNTS_AT_MOST = 100;

const ofAccount = (id: string): SQL => sql`account_id = ${id}::uuid`;

const accountTables: readonly PgTable[] = (Object.values(tables) as unknown[])
  .filter((table): table is PgTable => is(table, PgTable))
  .filter((table) => getTableConfig(table).columns.some(({ name }) => name === 'account_id'));

/** Uses one index lookup per day, because `distinct` would read every charge. */
export const chargeDaysOf = (id: string): SQL => sql`
  with recursive days (day) as (
    select min(day) from requests where ${ofAccount(id)}
    union all
    select (select min(r.day) from requests r where r.account_id = ${id}::uuid and r.day > days.day) from days
    where days.day is not null
  )
  select day::text as day from days where day is not null`;

/** Deletes charges day by day, so that each statement reads only one day. */
async function deleteCharges(db: Db, id: string, signal: AbortSignal | undefined): Promise<void> {
  const days = await rowsOf<{ day: string }>(db, chargeDaysOf(id));
  for (const { day } of days)
    await deleteAll(db, tables.requests, sql`${ofAccount(id)} and day = ${day}::date`, signal);
}

/** Deletes the account's row if no other row of the account remains. */
async function removeAccount(db: Db, id: string): Promise<void> {
  const nothingLeft = sql.join(
    accountTables.map((table) => sql`not exists (select from ${table} where ${ofAccount(id)})`),
    sql` and `,
  );
  await db.execute(
    sql`delete from accounts where id = ${id}::uuid and deleted_at <= now() - ${ENDS_AFTER} and ${nothingLeft}`,
  );
}

async function purge(db: Db, id: string, signal: AbortSignal | undefined): Promise<void> {
  // Delete charges first. Settling a deleted charge writes nothing, so no row can reappear afterward.
  await deleteCharges(db, id, signal);
  for (const table of accountTables) await deleteAll(db, table, ofAccount(id), signal);
  if (!signal?.aborted) await removeAccount(db, id);
}

/**
 * Purges deleted accounts. Several processes may run this at once. If one account fails, the others are still purged.
 *
 * @throws the first failure, after the other accounts; at once if the database is unreachable
 */
export async function purgeDeletedAccounts(db: Db, signal?: AbortSignal): Promise<void> {
  const deleted = await rowsOf<{ id: string }>(
    db,
    sql`select id from accounts where deleted_at <= now() - ${BEGINS_AFTER} order by deleted_at limit ${ACCOUNTS_AT_MOST}::int`,
  );
  let failure: { error: unknown } | undefined;
  for (const { id } of deleted) {
    if (signal?.aborted) break;
    await purge(db, id, signal).catch((error) => {
      if (wasNotSent(error) || mayHaveTakenEffect(error)) throw error;
      failure ??= { error };
    });
  }
  if (failure !== undefined) throw failure.error;
}
