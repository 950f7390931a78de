/** Runs work that one process does for all. Contract section 11. */
import { sql } from 'drizzle-orm';
import { type Database, type Db, openSession, rowsOf } from './client.ts';

/** Arbitrary, but unlike any other lock in the database. */
const MAINTENANCE_LOCK = 7_275_40;

/**
 * Runs work unless another process is running it. Returns whether it ran. The session lock needs `directUrl`, which
 * bypasses transaction poolers. If `signal` aborts, the in-flight statement continues in the database.
 */
export async function underMaintenanceLock(
  database: Database,
  directUrl: string | undefined,
  work: (db: Db) => Promise<void>,
  signal?: AbortSignal,
): Promise<boolean> {
  if (database.kind === 'embedded') {
    await work(database.db);
    return true;
  }
  if (directUrl === undefined) throw new Error('Maintenance of a Postgres database needs its direct URL.');
  const { close, db, lose } = openSession(directUrl);
  signal?.addEventListener('abort', lose, { once: true });
  try {
    const [lock] = await rowsOf<{ taken: boolean }>(
      db,
      sql`select pg_try_advisory_lock(${MAINTENANCE_LOCK}::bigint) as taken`,
    );
    if (lock?.taken !== true) return false;
    await work(db);
    return true;
  } finally {
    signal?.removeEventListener('abort', lose);
    await close();
  }
}
