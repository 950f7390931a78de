/** Opens the configured database and migrates it. Contract section 11. */
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

/** If the direct URL differs from the main URL, the main URL points to a transaction pooler. */
export async function configuredLocation(config: Config): Promise<DatabaseLocation> {
  const { databaseConnections, databaseDirectUrl, databaseUrl, dataDir } = config;
  if (databaseUrl === undefined) return { dataDir };
  const isPooled = databaseDirectUrl !== databaseUrl || (await isTransactionPooler(databaseUrl));
  return { url: databaseUrl, connections: databaseConnections, isPooled, timeoutMs: STATEMENT_TIMEOUT_MS };
}

/** `opened` also waits for the migrations. It rejects with connection errors and migration errors. */
export function startMigrated(config: Config, location: DatabaseLocation): Opening {
  const { database, opened } = startOpening(location);
  async function bringUpToDate(): Promise<void> {
    await migrate(database, config.databaseDirectUrl);
    await assertWhole(database.db);
  }
  const migrated = bringUpToDate();
  // If the database does not open, its own error explains more than those of statements.
  migrated.catch(() => {});
  return { database, opened: opened.then(() => migrated) };
}
