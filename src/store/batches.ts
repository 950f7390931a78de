/** Deleting much in small statements, so that nobody waits for it. */
import { getTableColumns, type SQL, sql } from 'drizzle-orm';
import { getTableConfig, type PgColumn, type PgTable } from 'drizzle-orm/pg-core';
import { type Db, rowsOf } from './client.ts';

/** Rows in one statement. */
export const BATCH_ROWS = 1000;

function primaryKeyOf(table: PgTable): PgColumn[] {
  const [composite] = getTableConfig(table).primaryKeys;
  return composite?.columns ?? Object.values(getTableColumns(table)).filter(({ primary }) => primary);
}

/** Deletes some rows. Rows that somebody holds are left for another time. Returns how many were deleted. */
export async function deleteBatch(db: Db, table: PgTable, where: SQL): Promise<number> {
  const key = primaryKeyOf(table).map(({ name }, index) => ({
    column: sql.identifier(name),
    picked: sql.identifier(`key_${index}`),
  }));
  const columns = key.map(({ column }) => column);
  const pickedColumns = key.map(({ picked }) => picked);
  const same = key.map(({ column, picked }) => sql`${column} = ${picked}`);
  // Materialised, or the plan may pick again and again, and pick nothing the second time.
  const [deleted] = await rowsOf<{ count: number }>(
    db,
    sql`
      with picked (${sql.join(pickedColumns, sql`, `)}) as materialized (
        select ${sql.join(columns, sql`, `)} from ${table} where ${where} limit ${BATCH_ROWS}::int for update skip locked
      ), deleted as (
        delete from ${table} using picked where ${sql.join(same, sql` and `)} and ${where} returning 1
      )
      select count(*)::int as count from deleted`,
  );
  return deleted?.count ?? 0;
}

/** Deletes batch after batch until nothing is left, or until it is told to stop. */
export async function deleteAll(db: Db, table: PgTable, where: SQL, signal?: AbortSignal): Promise<void> {
  while (!signal?.aborted && (await deleteBatch(db, table, where)) === BATCH_ROWS);
}
