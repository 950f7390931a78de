import { getTableColumns, type SQL, sql } from 'drizzle-orm';
import { getTableConfig, type PgColumn, type PgTable } from 'drizzle-orm/pg-core';
import { type Db, rowsOf, sqlState } from './client.ts';

export const BATCH_ROWS = 1000;
const TIMED_OUT = '57014';

function primaryKeyOf(table: PgTable): PgColumn[] {
  const [composite] = getTableConfig(table).primaryKeys;
  return composite?.columns ?? Object.values(getTableColumns(table)).filter(({ primary }) => primary);
}

/** Deletes a batch of rows, skipping locked ones; returns how many. An indexed `oldest` makes empty runs cheap. */
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
  // Materialized, because the plan may otherwise pick again, and pick nothing the second time.
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

/** Runs full batches until one is not full. A batch that took too long is tried again with fewer rows: rows can be large. */
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

/** Deletes in batches until no row is left or `signal` aborts. */
export const deleteAll = (db: Db, table: PgTable, where: SQL, signal?: AbortSignal): Promise<void> =>
  inBatches((rows) => deleteBatch(db, rows, table, where), signal);

/**
 * Deletes rows up to and including a time, in batches.
 *
 * @param column - of the time; must be indexed
 * @param time - evaluated once: an index condition cannot contain a clock such as `ledger_now()`
 */
export function deleteUpTo(db: Db, column: PgColumn, time: SQL, signal?: AbortSignal): Promise<void> {
  const where = sql`${sql.identifier(column.name)} <= (select ${time})`;
  return inBatches((rows) => deleteBatch(db, rows, column.table, where, column), signal);
}
