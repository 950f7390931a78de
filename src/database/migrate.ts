/** Migrations, functions, indexes and partitions, applied at startup under a lock. Contract section 11. */
import { fileURLToPath } from 'node:url';
import { sql } from 'drizzle-orm';
import { migrate as applyMigrations } from 'drizzle-orm/postgres-js/migrator';
import { projectRoot } from '../project.ts';
import { type Database, type Db, openSession } from './client.ts';
import { installFunctions } from './functions.ts';
import { buildSmallIndexes } from './indexes.ts';
import { makePartitions } from './partitions.ts';

const migrationsFolder = fileURLToPath(new URL('drizzle', projectRoot));

/** Arbitrary, but unlike any other lock in the database. */
const MIGRATION_LOCK = 7_275_39;

async function bringUpToDate(db: Db, kind: Database['kind']): Promise<void> {
  await applyMigrations(db as never, { migrationsFolder });
  await installFunctions(db);
  await buildSmallIndexes(db, kind);
  await makePartitions(db);
}

/** On Postgres, `directUrl` bypasses transaction poolers, for the session lock. */
export async function migrate(database: Database, directUrl?: string): Promise<void> {
  if (database.kind === 'embedded') return bringUpToDate(database.db, 'embedded');
  if (directUrl === undefined) throw new Error('A Postgres database is migrated over its direct URL.');
  const { close, db } = openSession(directUrl);
  try {
    await db.execute(sql`select pg_advisory_lock(${sql.raw(String(MIGRATION_LOCK))})`);
    await bringUpToDate(db, 'postgres');
  } finally {
    await close();
  }
}
