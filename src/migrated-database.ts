/** Opens the configured database, and brings it up to date. Contract section 11. */
import type { Config } from './config.ts';
import {
  type Database,
  type DatabaseLocation,
  isTransactionPooler,
  openDatabase,
  STATEMENT_TIMEOUT_MS,
} from './database/client.ts';
import { migrate } from './database/migrate.ts';
import { assertWhole } from './store/transfer.ts';

/** A direct URL that differs from the main one means that the main one leads to a transaction pooler. */
export async function configuredLocation(config: Config): Promise<DatabaseLocation> {
  const { databaseConnections, databaseDirectUrl, databaseUrl, dataDir } = config;
  if (databaseUrl === undefined) return { dataDir };
  const isPooled = databaseDirectUrl !== databaseUrl || (await isTransactionPooler(databaseUrl));
  return { url: databaseUrl, connections: databaseConnections, isPooled, patienceMs: STATEMENT_TIMEOUT_MS };
}

/** Throws errors of connections and migrations. */
export async function openMigrated(config: Config, location: DatabaseLocation): Promise<Database> {
  const database = await openDatabase(location);
  try {
    await migrate(database, config.databaseDirectUrl);
    await assertWhole(database.db);
    return database;
  } catch (error) {
    await database.close();
    throw error;
  }
}
