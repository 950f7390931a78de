/** Migrations, functions, indexes and partitions, applied at startup under a lock. Contract section 11. */
import { fileURLToPath } from 'node:url';
import { sql } from 'drizzle-orm';
import { migrate as migratePglite } from 'drizzle-orm/pglite/migrator';
import { migrate as migratePostgres } from 'drizzle-orm/postgres-js/migrator';
import { projectRoot } from '../project.ts';
import { type Database, openSession } from './client.ts';
import { installFunctions } from './functions.ts';
import { buildSmallIndexes } from './indexes.ts';
import { makePartitions } from './partitions.ts';

const migrationsFolder = fileURLToPath(new URL('drizzle', projectRoot));

/** Arbitrary, but unlike any other lock in the database. */
const MIGRATION_LOCK = 7_275_39;

/** On Postgres, `directUrl` bypasses transaction poolers, for the session lock. */
export async function migrate(database: Database, directUrl?: string): Promise<void> {
  if (database.kind === 'embedded') {
    await migratePglite(database.db as never, { migrationsFolder });
    await installFunctions(database.db);
    await buildSmallIndexes(database.db, 'embedded');
    await makePartitions(database.db);
    return;
  }
  if (directUrl === undefined) throw new Error('A Postgres database is migrated over its direct URL.');
  const { close, db } = openSession(directUrl);
  try {
    await db.execute(sql`select pg_advisory_lock(${sql.raw(String(MIGRATION_LOCK))})`);
    await migratePostgres(db as never, { migrationsFolder });
    await installFunctions(db);
    await buildSmallIndexes(db, 'postgres');
    await makePartitions(db);
  } finally {
    await close();
  }
}
