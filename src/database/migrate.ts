/** Applies migrations, functions, indexes, and partitions at startup, under a lock. Contract section 11. */
import { fileURLToPath } from 'node:url';
import { sql } from 'drizzle-orm';
import { migrate as applyMigrations } from 'drizzle-orm/postgres-js/migrator';
import { projectRoot } from '../project.ts';
import { type Database, type Db, isUnavailable, openSession } from './client.ts';
import { installFunctions } from './functions.ts';
import { buildSmallIndexes } from './indexes.ts';
import { makePartitions } from './partitions.ts';

const migrationsFolder = fileURLToPath(new URL('drizzle', projectRoot));

/** Arbitrary, but unlike any other lock in the database. */
const MIGRATION_LOCK = 7_275_39;

/** The database rejected a migration. Nothing changed, because all migrations are one transaction. */
export class MigrationError extends Error {
  override readonly name = 'MigrationError';

  constructor(cause: unknown) {
    const { message } = (cause as { cause?: Error }).cause ?? (cause as Error);
    super(
      [
        `The database could not be migrated: ${message}`,
        'Nothing was changed. After an upgrade, go back to the previous version of Parley, which still works with this database. With a new database, check that its user may create schemas and tables.',
        'If someone changed the tables manually, undo those changes. Otherwise, report this message. You do not need to restore a backup.',
      ].join('\n'),
      { cause },
    );
  }
}

async function applyAll(db: Db): Promise<void> {
  try {
    await applyMigrations(db as never, { migrationsFolder });
  } catch (error) {
    throw isUnavailable(error) ? error : new MigrationError(error);
  }
}

async function bringUpToDate(db: Db, kind: Database['kind']): Promise<void> {
  await applyAll(db);
  await installFunctions(db);
  await buildSmallIndexes(db, kind);
  await makePartitions(db);
}

/**
 * Migrates the database. On Postgres, the session lock needs `directUrl`, which bypasses transaction poolers.
 *
 * @throws MigrationError; connection errors
 */
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
