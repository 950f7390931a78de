/** Looks for secrets where they must not be: in what a process wrote, and in everything that a database holds. */
import { sql } from 'drizzle-orm';
import { type Db, rowsOf } from '../../src/database/client.ts';

/** The forms in which a text can be found again: as it is, escaped, encoded, and as bytes. */
function formsOf(secret: string): string[] {
  const bytes = Buffer.from(secret);
  return [
    secret,
    JSON.stringify(secret).slice(1, -1),
    encodeURIComponent(secret),
    bytes.toString('hex'),
    // Without the last group, which depends on what follows.
    bytes.toString('base64').slice(0, -4),
    bytes.toString('base64url').slice(0, -4),
  ];
}

/** Names of the secrets that a text holds, in whatever form and case. */
export function secretsIn(text: string, secrets: Record<string, string>): string[] {
  const searched = text.toLowerCase();
  return Object.entries(secrets)
    .filter(([, secret]) => formsOf(secret).some((form) => searched.includes(form.toLowerCase())))
    .map(([name]) => name);
}

/** Every row of every table, by `table.column`. */
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
