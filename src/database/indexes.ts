/**
 * Builds missing indexes without blocking writers, unlike migrations. Until an index exists, statements that use it are
 * slower. For partitioned tables, migrations create only the parent's index (`ON ONLY`), and this module adds indexes
 * to old partitions. Contract section 11, docs/decisions/0018-indexes-and-places.md.
 */
import { is, type SQL, sql } from 'drizzle-orm';
import { getTableConfig, type Index, IndexedColumn, PgTable } from 'drizzle-orm/pg-core';
import { type Database, type Db, rowsOf } from './client.ts';
import * as tables from './tables.ts';

const SMALL_BYTES = 8 * 1024 * 1024;

type Declared = { name: string; table: string; definition: SQL };

function columnOf(column: Partial<SQL | IndexedColumn>): SQL {
  if (!is(column, IndexedColumn)) return column as SQL;
  const { order, nulls } = column.indexConfig;
  return sql`${sql.identifier(column.name ?? '')} ${sql.raw(order ?? 'asc')} ${sql.raw(nulls === undefined ? '' : `nulls ${nulls}`)}`;
}

function declaredOf(table: PgTable, { config }: Index): Declared {
  if (config.name === undefined) throw new Error('An index has no name.');
  const columns = sql.join(config.columns.map(columnOf), sql`, `);
  const definition = sql`using ${sql.raw(config.method ?? 'btree')} (${columns})`;
  return {
    name: config.name,
    table: getTableConfig(table).name,
    definition: config.where === undefined ? definition : sql`${definition} where ${config.where}`,
  };
}

/** Excludes unique indexes. They are constraints, so migrations create them. */
const declared: readonly Declared[] = (Object.values(tables) as unknown[])
  .filter((table): table is PgTable => is(table, PgTable))
  .flatMap((table) =>
    getTableConfig(table)
      .indexes.filter(({ config }) => !config.unique && config.with === undefined)
      .map((index) => declaredOf(table, index)),
  );

export type MissingIndex = {
  name: string;
  /** The name of the table or partition. */
  target: string;
  built: string;
  is_partition: boolean;
  bytes: string;
  /** Whether a process died while it built the index, which left it invalid. */
  is_broken: boolean;
};

export const missingIndexes = (db: Db): Promise<MissingIndex[]> =>
  rowsOf<MissingIndex>(
    db,
    sql`
      with wanted as (
        select w.name, w.of, t.oid, t.relkind, t.relnamespace
        from jsonb_to_recordset(${JSON.stringify(declared.map(({ name, table }) => ({ name, of: table })))}::text::jsonb)
               as w (name text, of text)
        join pg_class t on t.oid = to_regclass(w.of)
      ), targets as (
        select name, oid as target, name as built, false as is_partition, relnamespace from wanted where relkind = 'r'
        union all
        select w.name, p.inhrelid, c.relname || substr(w.name, length(w.of) + 1), true, w.relnamespace
        from wanted w
        join pg_inherits p on p.inhparent = w.oid and not p.inhdetachpending
        join pg_class c on c.oid = p.inhrelid
      )
      select g.name, c.relname as target, g.built, g.is_partition, pg_relation_size(g.target)::text as bytes,
             coalesce(not i.indisvalid, false) as is_broken
      from targets g
      join pg_class c on c.oid = g.target
      left join pg_class b on b.relname = g.built and b.relnamespace = g.relnamespace
      left join pg_index i on i.indexrelid = b.oid
      where case when g.is_partition then not exists (
              select from pg_inherits child join pg_index x on x.indexrelid = child.inhrelid
              where child.inhparent = to_regclass(g.name) and x.indrelid = g.target)
            else i.indisvalid is not true end
      order by c.relname desc, g.name`,
  );

async function build(db: Db, { built, is_broken, is_partition, name, target }: MissingIndex, how: SQL) {
  const definition = declared.find((index) => index.name === name)?.definition;
  const index = sql.identifier(built);
  if (is_broken) await db.execute(sql`drop index ${how} if exists ${index}`);
  await db.execute(
    sql`create index ${how} if not exists ${index} on ${sql.identifier(target)} ${definition}`,
  );
  if (is_partition) await db.execute(sql`alter index ${sql.identifier(name)} attach partition ${index}`);
}

/** Builds small indexes at startup, under the migration lock. The embedded database has no other writers. */
export async function buildSmallIndexes(db: Db, kind: Database['kind']): Promise<void> {
  for (const missing of await missingIndexes(db)) {
    if (kind === 'embedded' || Number(missing.bytes) <= SMALL_BYTES) await build(db, missing, sql``);
  }
}

/** Builds the remaining indexes one by one. On Postgres, `db` must not have an open transaction. */
export async function buildIndexes(db: Db, kind: Database['kind'], signal?: AbortSignal): Promise<void> {
  for (const missing of await missingIndexes(db)) {
    if (signal?.aborted) return;
    await build(db, missing, kind === 'embedded' ? sql`` : sql`concurrently`);
  }
}
