/** Removes what is left of deleted accounts. Contract section 9. */
import { is, type SQL, sql } from 'drizzle-orm';
import { getTableConfig, PgTable } from 'drizzle-orm/pg-core';
import { deleteAll } from '../database/batches.ts';
import { type Db, rowsOf } from '../database/client.ts';
import * as tables from '../database/tables.ts';

/** Requests that were being verified when the account was deleted have ended or been refused by then. */
const BEGINS_AFTER = sql`interval '1 minute'`;
/** No process that knew the account as living can still write: its leases, and the time it sends a statement again, are over. */
const ENDS_AFTER = sql`interval '10 minutes'`;
const ACCOUNTS_AT_MOST = 100;

const ofAccount = (id: string): SQL => sql`account_id = ${id}::uuid`;

/** Every table that holds rows of accounts. */
const accountTables: readonly PgTable[] = (Object.values(tables) as unknown[])
  .filter((table): table is PgTable => is(table, PgTable))
  .filter((table) => getTableConfig(table).columns.some(({ name }) => name === 'account_id'));

/** Removes an account's charges, day by day: each statement looks at one day's. */
async function deleteCharges(db: Db, id: string, signal: AbortSignal | undefined): Promise<void> {
  const days = await rowsOf<{ day: string }>(
    db,
    sql`select distinct day::text as day from requests where ${ofAccount(id)}`,
  );
  for (const { day } of days)
    await deleteAll(db, tables.requests, sql`${ofAccount(id)} and day = ${day}::date`, signal);
}

/** Removes an account's row, as the last of its rows. */
async function removeAccount(db: Db, id: string): Promise<void> {
  const nothingLeft = sql.join(
    accountTables.map((table) => sql`not exists (select from ${table} where ${ofAccount(id)})`),
    sql` and `,
  );
  await db.execute(
    sql`delete from accounts where id = ${id}::uuid and deleted_at <= now() - ${ENDS_AFTER} and ${nothingLeft}`,
  );
}

/** Removes rows of deleted accounts, in batches. Several processes may do so at once. */
export async function purgeDeletedAccounts(db: Db, signal?: AbortSignal): Promise<void> {
  const deleted = await rowsOf<{ id: string }>(
    db,
    sql`select id from accounts where deleted_at <= now() - ${BEGINS_AFTER} order by deleted_at limit ${ACCOUNTS_AT_MOST}::int`,
  );
  for (const { id } of deleted) {
    // Charges first: whoever settles one that is gone writes nothing, so that nothing comes back behind the rest.
    await deleteCharges(db, id, signal);
    for (const table of accountTables) await deleteAll(db, table, ofAccount(id), signal);
    if (signal?.aborted) return;
    await removeAccount(db, id);
  }
}
