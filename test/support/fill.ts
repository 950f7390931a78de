/** Inserts rows into any table. */
import { sql } from 'drizzle-orm';
import { type Db, rowsOf } from '../../src/database/client.ts';

const values: Record<string, string> = {
  uuid: 'gen_random_uuid()',
  date: "(now() at time zone 'UTC')::date",
  text: 'md5(random()::text)',
  'text[]': "'{}'",
  bytea: "decode(md5(random()::text), 'hex')",
  integer: '1',
  smallint: '1',
  bigint: '1',
  'double precision': '1',
  boolean: 'false',
  json: "'{}'",
  jsonb: "'{}'",
  'timestamp(3) with time zone': 'now()',
};

/** The names of all tables except partitions. With `column`, only those that have a column of this name. */
export const tablesOf = async (db: Db, column?: string): Promise<string[]> =>
  (
    await rowsOf<{ name: string }>(
      db,
      sql`select c.relname as name from pg_class c
          where c.relkind in ('r', 'p') and not c.relispartition and c.relnamespace = 'public'::regnamespace
            and (${column ?? null}::text is null or exists (
              select from pg_attribute a where a.attrelid = c.oid and a.attname = ${column ?? null}::text and not a.attisdropped))
          order by 1`,
    )
  ).map(({ name }) => name);

/** The columns of a table that are not generated. */
export const columnsOf = (db: Db, table: string): Promise<{ name: string; type: string }[]> =>
  rowsOf(
    db,
    sql`select attname as name, format_type(atttypid, atttypmod) as type from pg_attribute
        where attrelid = ${table}::regclass and attnum > 0 and not attisdropped and attgenerated = '' order by attnum`,
  );

/** Inserts up to `rows` rows, all for one account, or each for a random one. */
export async function fill(db: Db, table: string, rows: number, accountId?: string): Promise<void> {
  const columns = await columnsOf(db, table);
  const value = ({ name, type }: { name: string; type: string }) => {
    if (name === 'account_id' && accountId !== undefined) return `'${accountId}'::uuid`;
    const known = values[type];
    if (known === undefined) throw new Error(`${table}.${name}: no value for ${type}`);
    return known;
  };
  const names = columns.map(({ name }) => `"${name}"`).join(', ');
  await db.execute(
    sql.raw(`insert into ${table} (${names})
             select ${columns.map(value).join(', ')} from generate_series(1, ${rows}) on conflict do nothing`),
  );
}
