import { sql } from 'drizzle-orm';
import { type Db, rowsOf } from '../database/client.ts';

/** With more origins, the planner expects so many rows that it scans all keys instead of the index. */
export const ORIGINS_PER_QUERY = 20;

/** Those origins that an active key of any account lists. Deleting an account revokes its keys. Contract section 4. */
export async function listedOrigins(db: Db, origins: readonly string[]): Promise<Set<string>> {
  // A constant: for unknown values, the planner expects many rows each and scans all keys.
  const listed = `{${origins.map((origin) => JSON.stringify(origin)).join(',')}}`;
  const rows = await rowsOf<{ origin: string }>(
    db,
    sql`select distinct listed.origin
        from api_keys k
        cross join unnest(k.allowed_origins) as listed (origin)
        where k.allowed_origins && ${listed}::text::text[] and k.revoked_at is null
          and (k.expires_at is null or k.expires_at > now())
          and listed.origin = any(${listed}::text::text[])`,
  );
  return new Set(rows.map(({ origin }) => origin));
}
