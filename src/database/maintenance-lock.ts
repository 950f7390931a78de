/** Work that one process at a time does for all. Contract section 11. */
import { sql } from 'drizzle-orm';
import { type Database, type Db, openSession, rowsOf } from './client.ts';

/** Any constant will do, as long as nothing else in the database takes the same lock. */
const UPKEEP_LOCK = 7_275_40;

/**
 * Does work unless another process is at it.
 *
 * @param directUrl - for Postgres: the database without a transaction pooler in between, for the session lock
 * @param signal - gives up at once: the statement under way is left to the database
 * @returns whether the work was done here
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
      sql`select pg_try_advisory_lock(${UPKEEP_LOCK}::bigint) as taken`,
    );
    if (lock?.taken !== true) return false;
    await work(db);
    return true;
  } finally {
    signal?.removeEventListener('abort', lose);
    // Ends the session, and the lock with it.
    await close();
  }
}
