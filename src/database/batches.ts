import { getTableColumns, type SQL, sql } from 'drizzle-orm';
import { getTableConfig, type PgColumn, type PgTable } from 'drizzle-orm/pg-core';
import { type Db, rowsOf, sqlState } from './client.ts';

export const BATCH_ROWS = 1000;
const TIMED_OUT = '57014';

function primaryKeyOf(table: PgTable): PgColumn[] {
  const [composite] = getTableConfig(table).primaryKeys;
  return composite?.columns ?? Object.values(getTableColumns(table)).filter(({ primary }) => primary);
}

/** Deletes a batch of rows, skipping locked ones. Returns the count. An indexed `oldest` makes empty runs cheap. */
async function deleteBatch(
  db: Db,
  rows: number,
  table: PgTable,
  where: SQL,
  oldest?: PgColumn,
): Promise<number> {
  const key = primaryKeyOf(table).map(({ name }, index) => ({
    column: sql.identifier(name),
    picked: sql.identifier(`key_${index}`),
  }));
  const columns = key.map(({ column }) => column);
  const pickedColumns = key.map(({ picked }) => picked);
  const same = key.map(({ column, picked }) => sql`${column} = ${picked}`);
  // Materialized: otherwise the plan may run the selection a second time, which then finds nothing.
  const [deleted] = await rowsOf<{ count: number }>(
    db,
    sql`
      with picked (${sql.join(pickedColumns, sql`, `)}) as materialized (
        select ${sql.join(columns, sql`, `)} from ${table} where ${where}
        ${oldest === undefined ? sql`` : sql`order by ${sql.identifier(oldest.name)}`}
        limit ${rows}::int for update skip locked
      ), deleted as (
        delete from ${table} using picked where ${sql.join(same, sql` and `)} and ${where} returning 1
      )
      select count(*)::int as count from deleted`,
  );
  return deleted?.count ?? 0;
}

/** Deletes batches until one is not full. Rows can be large, so a batch that times out is retried with fewer rows. */
async function inBatches(
  deleteRows: (rows: number) => Promise<number>,
  signal: AbortSignal | undefined,
): Promise<void> {
  let rows = BATCH_ROWS;
  while (!signal?.aborted) {
    try {
      if ((await deleteRows(rows)) < rows) return;
    } catch (error) {
      if (sqlState(error) !== TIMED_OUT || rows === 1) throw error;
      rows = Math.ceil(rows / 8);
    }
  }
}

/** Deletes in batches until no matching row is left or `signal` aborts. */
export const deleteAll = (db: Db, table: PgTable, where: SQL, signal?: AbortSignal): Promise<void> =>
  inBatches((rows) => deleteBatch(db, rows, table, where), signal);

/**
 * Deletes rows up to and including a time, in batches.
 *
 * @param column - the indexed column with the row's time
 * @param time - evaluated once, because an index condition cannot contain a clock such as `ledger_now()`
 */
export function deleteUpTo(db: Db, column: PgColumn, time: SQL, signal?: AbortSignal): Promise<void> {
  const where = sql`${sql.identifier(column.name)} <= (select ${time})`;
  return inBatches((rows) => deleteBatch(db, rows, column.table, where, column), signal);
}
