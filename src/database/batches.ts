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

/**
 * Deletes some rows. Rows that somebody holds are left for another time.
 *
 * @param oldest - the column by which the oldest go first; where an index has it, nothing is read when there is nothing to do
 * @returns how many were deleted
 */
async function deleteBatch(db: Db, table: PgTable, where: SQL, oldest?: PgColumn): Promise<number> {
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
        select ${sql.join(columns, sql`, `)} from ${table} where ${where}
        ${oldest === undefined ? sql`` : sql`order by ${sql.identifier(oldest.name)}`}
        limit ${BATCH_ROWS}::int for update skip locked
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

/**
 * Deletes what is as old as a time or older, in the same way.
 *
 * @param column - of the time; it has an index
 * @param time - read once: a condition with a clock in it, such as `ledger_now()`, is no condition of an index
 */
export async function deleteUpTo(db: Db, column: PgColumn, time: SQL, signal?: AbortSignal): Promise<void> {
  const where = sql`${sql.identifier(column.name)} <= (select ${time})`;
  while (!signal?.aborted && (await deleteBatch(db, column.table, where, column)) === BATCH_ROWS);
}
