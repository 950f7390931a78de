/** Runs operator commands: in this process, or in the running service if that holds the embedded database. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { type Config, loadConfig } from '../config.ts';
import { openDatabase } from '../database/client.ts';
import { askHolder, DataDirError, lockDataDir } from '../database/data-dir-lock.ts';
import { migrate } from '../database/migrate.ts';
import { CommandError, checkUsage, runOperatorCommand } from './operator.ts';

async function onPostgres(config: Config, url: string, name: string, args: string[]): Promise<string[]> {
  const database = await openDatabase({ url, connections: 1 });
  try {
    return await runOperatorCommand({ db: database.db, config }, name, args);
  } finally {
    await database.close();
  }
}

/** @throws DataDirError if another process has the folder */
async function inThisProcess(config: Config, name: string, args: string[]): Promise<string[]> {
  const { dataDir } = config;
  if (!existsSync(join(dataDir, 'PG_VERSION'))) {
    throw new CommandError(
      `DATA_DIR ${dataDir} has no database yet. Start the service once, or set DATA_DIR or DATABASE_URL to the values that the service uses.`,
    );
  }
  // Files that the embedded database writes are private to this user.
  process.umask(0o077);
  const lock = await lockDataDir(dataDir, (asked, itsArgs) => runOperatorCommand(undefined, asked, itsArgs));
  try {
    const database = await openDatabase({ dataDir });
    try {
      await migrate(database);
      return await runOperatorCommand({ db: database.db, config }, name, args);
    } finally {
      await database.close();
    }
  } finally {
    await lock.release();
  }
}

async function onEmbedded(config: Config, name: string, args: string[]): Promise<string[]> {
  try {
    return await inThisProcess(config, name, args);
  } catch (error) {
    const answered = error instanceof DataDirError ? await askHolder(config.dataDir, name, args) : undefined;
    if (answered === undefined) throw error;
    return answered;
  }
}

/** Runs a command and prints its output. On failure, prints the reason to standard error and exits with code 1. */
export async function commandLine(name: string, args: string[] = process.argv.slice(2)): Promise<void> {
  try {
    checkUsage(name, args);
    const config = loadConfig();
    const { databaseUrl } = config;
    const lines = await (databaseUrl === undefined
      ? onEmbedded(config, name, args)
      : onPostgres(config, databaseUrl, name, args));
    for (const line of lines) console.log(line);
  } catch (error) {
    const { message } = error as Error;
    console.error(message);
    process.exitCode = 1;
  }
}
