/** The tables of a database, and their rows as JSON, which is the same in every version of Postgres. */
import { is, type SQL, sql } from 'drizzle-orm';
import { getTableConfig, type PgColumn, PgTable } from 'drizzle-orm/pg-core';
import { type Db, rowsOf } from '../../database/client.ts';
import * as tables from '../../database/tables.ts';
import { TRANSFER } from '../../store/transfer.ts';

/** Settings that describe a database instead of its contents. They are not copied. */
const ownSettings = [TRANSFER, 'ledger_functions'];

export type CopiedTable = {
  name: string;
  columns: readonly string[];
  key: readonly { name: string; type: string }[];
  /** The condition for rows to copy. */
  where: SQL;
};

/** The columns of the primary key, in its order. */
function keyOf(table: PgTable): PgColumn[] {
  const { columns, primaryKeys } = getTableConfig(table);
  const names = primaryKeys[0]?.columns.map(({ name }) => name);
  if (names === undefined) return columns.filter(({ primary }) => primary);
  return names.flatMap((name) => columns.filter((column) => column.name === name));
}

/** In the order of the source code. Omits tables whose rows are built from files. */
export const copiedTables: readonly CopiedTable[] = (Object.values(tables) as unknown[])
  .filter((table): table is PgTable => is(table, PgTable))
  .filter((table) => table !== (tables.passages as unknown))
  .map((table) => ({
    name: getTableConfig(table).name,
    columns: getTableConfig(table).columns.map(({ name }) => name),
    key: keyOf(table).map((column) => ({ name: column.name, type: column.getSQLType() })),
    where:
      table === (tables.settings as unknown)
        ? sql`not name = any (${sql.param(`{${ownSettings.join(',')}}`)}::text[])`
        : sql`true`,
  }));

const list = (names: readonly string[]): SQL =>
  sql.join(
    names.map((name) => sql.identifier(name)),
    sql`, `,
  );

/** Sets the session's options so that values have the same text form in every session. */
export function inPlainSession<T>(db: Db, work: (tx: Db) => Promise<T>): Promise<T> {
  return db.transaction(async (tx) => {
    await tx.execute(sql`set local time zone 'UTC'`);
    await tx.execute(sql`set local bytea_output = 'hex'`);
    await tx.execute(sql`set local statement_timeout = 0`);
    return work(tx);
  });
}

export type Batch = { rows: string[]; bytes: number; last: string[] };

/** Reads the rows after a key, in the order of the key. */
export async function readBatch(
  tx: Db,
  { columns, key, name, where }: CopiedTable,
  after: readonly string[] | undefined,
  limit: number,
): Promise<Batch> {
  const keyNames = key.map((column) => column.name);
  const place = after?.map((value, index) => sql`${value}::text::${sql.raw(key[index]?.type ?? 'text')}`);
  const position = place === undefined ? sql`true` : sql`(${list(keyNames)}) > (${sql.join(place, sql`, `)})`;
  const found = await rowsOf<{ row: string }>(
    tx,
    sql`select row_to_json(r)::text as row
        from (select ${list(columns)} from ${sql.identifier(name)}
              where ${where} and ${position} order by ${list(keyNames)} limit ${limit}::int) r`,
  );
  const rows = found.map(({ row }) => row);
  const last = rows.at(-1);
  const values = last === undefined ? {} : (JSON.parse(last) as Record<string, unknown>);
  return {
    rows,
    bytes: rows.reduce((sum, row) => sum + row.length, 0),
    last: keyNames.map((column) => String(values[column])),
  };
}

export async function writeBatch(
  tx: Db,
  { columns, name }: CopiedTable,
  rows: readonly string[],
): Promise<void> {
  if (rows.length === 0) return;
  const table = sql.identifier(name);
  await tx.execute(
    sql`insert into ${table} (${list(columns)})
        select ${list(columns)} from json_populate_recordset(null::${table}, ${`[${rows.join(',')}]`}::text::json)`,
  );
}

export type Content = { table: string; rows: number; hash: string };

/** The number of rows, and a hash that ignores their order: the sum of the rows' 128-bit hashes. */
export async function contentOf(tx: Db, { columns, name, where }: CopiedTable): Promise<Content> {
  const half = (part: SQL) => sql`coalesce(sum(('x' || ${part})::bit(64)::bigint::numeric), 0)::text`;
  const [content] = await rowsOf<{ rows: string; high: string; low: string }>(
    tx,
    sql`select count(*)::text as rows, ${half(sql`left(h, 16)`)} as high, ${half(sql`right(h, 16)`)} as low
        from (select md5(row_to_json(r)::text) as h
              from (select ${list(columns)} from ${sql.identifier(name)} where ${where}) r) hashes`,
  );
  const hex = (sum = '0') => BigInt.asUintN(96, BigInt(sum)).toString(16).padStart(24, '0');
  return {
    table: name,
    rows: Number(content?.rows ?? 0),
    hash: `${hex(content?.high)}${hex(content?.low)}`,
  };
}
