/** Searches for leaked secrets in the output of a process and in all data of a database. */
import { sql } from 'drizzle-orm';
import { type Db, rowsOf } from '../../src/database/client.ts';

/** The forms in which a secret could appear: as is, escaped, URL-encoded, in hex, and in base64. */
function formsOf(secret: string): string[] {
  const bytes = Buffer.from(secret);
  return [
    secret,
    JSON.stringify(secret).slice(1, -1),
    encodeURIComponent(secret),
    bytes.toString('hex'),
    // Without the last group, which depends on the following bytes.
    bytes.toString('base64').slice(0, -4),
    bytes.toString('base64url').slice(0, -4),
  ];
}

/** Returns the names of the secrets that a text contains, in any form, ignoring case. */
export function secretsIn(text: string, secrets: Record<string, string>): string[] {
  const searched = text.toLowerCase();
  return Object.entries(secrets)
    .filter(([, secret]) => formsOf(secret).some((form) => searched.includes(form.toLowerCase())))
    .map(([name]) => name);
}

/** Returns the values of every column of every table, as text, by `table.column`. */
export async function dump(db: Db): Promise<Record<string, string>> {
  const columns = await rowsOf<{ table: string; column: string }>(
    db,
    sql`select c.relname as table, a.attname as column from pg_class c
        join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
        where c.relkind in ('r', 'p') and not c.relispartition and c.relnamespace = 'public'::regnamespace`,
  );
  const found: Record<string, string> = {};
  for (const { column, table } of columns) {
    const [row] = await rowsOf<{ text: string | null }>(
      db,
      sql`select string_agg(${sql.identifier(column)}::text, e'\n') as text from ${sql.identifier(table)}`,
    );
    found[`${table}.${column}`] = row?.text ?? '';
  }
  return found;
}
