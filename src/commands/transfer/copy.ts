/** Copies a database into an empty one, in batches. Each batch records its progress. */
import { sql } from 'drizzle-orm';
import { type Db, rowsOf } from '../../database/client.ts';
import { TRANSFER } from '../../store/transfer.ts';
import { CommandError } from '../command.ts';
import type { End } from './ends.ts';
import type { Progress } from './progress.ts';
import {
  type Content,
  type CopiedTable,
  contentOf,
  copiedTables,
  inPlainSession,
  readBatch,
  writeBatch,
} from './tables.ts';

const FIRST_ROWS = 50;
const MAX_ROWS = 5000;
const BATCH_BYTES = 2 * 1024 * 1024;

/** The state of a transfer, stored in `settings` of the target. */
type State = { source: string; table: string | null; after?: string[] };

async function stateOf(db: Db): Promise<State | undefined> {
  const [row] = await rowsOf<{ value: string }>(db, sql`select value from settings where name = ${TRANSFER}`);
  return row === undefined ? undefined : (JSON.parse(row.value) as State);
}

const keepState = (tx: Db, state: State): Promise<unknown> =>
  tx.execute(
    sql`insert into settings (name, value) values (${TRANSFER}, ${JSON.stringify(state)})
        on conflict (name) do update set value = excluded.value`,
  );

async function isEmpty(db: Db): Promise<boolean> {
  for (const { name, where } of copiedTables) {
    const [row] = await rowsOf<{ found: boolean }>(
      db,
      sql`select exists (select from ${sql.identifier(name)} where ${where}) as found`,
    );
    if (row?.found) return false;
  }
  return true;
}

async function empty(db: Db): Promise<void> {
  for (const { name, where } of copiedTables)
    await db.execute(
      name === 'settings' ? sql`delete from settings where ${where}` : sql`truncate ${sql.identifier(name)}`,
    );
  await db.execute(sql`delete from settings where name = ${TRANSFER}`);
}

/** Returns the target's state, after checking its source. Throws CommandError if the target has any other contents. */
async function begin(source: End, target: End, restarts: boolean): Promise<State> {
  const { db } = target.database;
  let state = await stateOf(db);
  if (state !== undefined && restarts) {
    await empty(db);
    state = undefined;
  }
  if (state === undefined) {
    if (!(await isEmpty(db)))
      throw new CommandError(`${target.name} is not empty. Use an empty database or a new folder.`);
    state = { source: source.name, table: null };
    await keepState(db, state);
    return state;
  }
  if (state.source !== source.name)
    throw new CommandError(
      `${target.name} contains an unfinished copy of ${state.source}. Continue from that source, or add --restart.`,
    );
  return state;
}

/** Creates the daily partitions of the source that a new database lacks. */
async function makePartitions(from: Db, to: Db): Promise<void> {
  const days = await rowsOf<{ name: string; first: string; next: string }>(
    from,
    sql`select relname as name, to_date(right(relname, 8), 'YYYYMMDD')::text as first,
               (to_date(right(relname, 8), 'YYYYMMDD') + 1)::text as next
        from pg_inherits join pg_class on pg_class.oid = inhrelid
        where inhparent = 'requests'::regclass order by relname`,
  );
  for (const { first, name, next } of days)
    await to.transaction(async (tx) => {
      const [made] = await rowsOf<{ exists: boolean }>(
        tx,
        sql`select to_regclass(${name}) is not null as exists`,
      );
      if (made?.exists) return;
      const partition = sql.identifier(name);
      await tx.execute(sql`create table ${partition} (like requests including all)`);
      await tx.execute(
        sql`alter table requests attach partition ${partition} for values from (${sql.raw(`'${first}'`)}) to (${sql.raw(`'${next}'`)})`,
      );
    });
}

async function copyTable(
  source: End,
  target: End,
  table: CopiedTable,
  from: State,
  onRows: (rows: number) => void,
) {
  let after = from.table === table.name ? from.after : undefined;
  for (let limit = FIRST_ROWS; ; ) {
    const rowLimit = limit;
    const batch = await inPlainSession(source.database.db, (tx) => readBatch(tx, table, after, rowLimit));
    if (batch.rows.length > 0) {
      after = batch.last;
      const state: State = { source: source.name, table: table.name, after };
      await inPlainSession(target.database.db, async (tx) => {
        await writeBatch(tx, table, batch.rows);
        await keepState(tx, state);
      });
      onRows(batch.rows.length);
    }
    if (batch.rows.length < rowLimit) return;
    const fitting = Math.floor((rowLimit * BATCH_BYTES) / Math.max(1, batch.bytes));
    limit = Math.max(1, Math.min(2 * rowLimit, fitting, MAX_ROWS));
  }
}

const contents = (db: Db): Promise<Content[]> =>
  inPlainSession(db, async (tx) => {
    const all: Content[] = [];
    for (const table of copiedTables) all.push(await contentOf(tx, table));
    return all;
  });

export type Proof = { table: string; rows: number; hash: string }[];

/** Copies everything that the target lacks, and proves that both databases are equal. Throws CommandError. */
export async function copyDatabase(
  source: End,
  target: End,
  restarts: boolean,
  progress: Progress,
): Promise<Proof> {
  const state = await begin(source, target, restarts);
  await makePartitions(source.database.db, target.database.db);
  const expected = await contents(source.database.db);
  const total = expected.reduce((sum, { rows }) => sum + rows, 0);
  const reached = copiedTables.findIndex(({ name }) => name === state.table);
  const rest = copiedTables.slice(Math.max(0, reached));
  for (const { table, rows } of expected)
    if (!rest.some(({ name }) => name === table)) progress.show(table, rows, total);
  for (const table of rest)
    await copyTable(source, target, table, state, (rows) => progress.show(table.name, rows, total));
  progress.end();

  const copied = await contents(target.database.db);
  const different = expected.filter(
    ({ hash, rows }, index) => copied[index]?.hash !== hash || copied[index]?.rows !== rows,
  );
  if (different.length > 0)
    throw new CommandError(
      `The databases differ in ${different.map(({ table }) => table).join(', ')}: the source changed during the transfer. Stop every service that uses the source, and run the command again with --restart.`,
    );
  await target.database.db.execute(sql`delete from settings where name = ${TRANSFER}`);
  await target.database.db.execute(sql`analyze`);
  return copied;
}
