/** Opens the configured database, and brings it up to date. Contract section 11. */
import type { Config } from './config.ts';
import {
  type DatabaseLocation,
  isTransactionPooler,
  type Opening,
  STATEMENT_TIMEOUT_MS,
  startOpening,
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

/** `opened` waits for the migrations too, and rejects with errors of connections and migrations. */
export function startMigrated(config: Config, location: DatabaseLocation): Opening {
  const { database, opened } = startOpening(location);
  async function bringUpToDate(): Promise<void> {
    await migrate(database, config.databaseDirectUrl);
    await assertWhole(database.db);
  }
  const migrated = bringUpToDate();
  // If it does not open, that error says more than those of statements.
  migrated.catch(() => {});
  return { database, opened: opened.then(() => migrated) };
}
