/** The two databases of a transfer. No service may use them meanwhile. */
import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { sql } from 'drizzle-orm';
import type { Config } from '../../config.ts';
import { type Database, openDatabase, rowsOf } from '../../database/client.ts';
import { DataDirError, lockDataDir } from '../../database/data-dir-lock.ts';
import { migrate } from '../../database/migrate.ts';
import { CommandError } from '../command.ts';
import { commandHandler, reasonOf } from '../operator.ts';

export type Location = { url: string } | { dataDir: string };

/** @throws CommandError for an invalid URL, which it does not quote: the URL can contain a password */
export function parseLocation(text: string): Location {
  if (!/^postgres(ql)?:\/\//.test(text)) return { dataDir: resolve(text) };
  if (URL.canParse(text)) return { url: text };
  throw new CommandError(
    'The argument is not a valid Postgres URL. Use postgres://user:password@host:5432/database, and percent-encode special characters in the password.',
  );
}

export const configuredLocation = ({ databaseDirectUrl, dataDir }: Config): Location =>
  databaseDirectUrl === undefined ? { dataDir } : { url: databaseDirectUrl };

/** The name of a database, without a password. */
export function nameOf(place: Location): string {
  if ('dataDir' in place) return place.dataDir;
  const { host, pathname } = new URL(place.url);
  return `postgres://${host}${pathname}`;
}

export type End = { database: Database; name: string; close(): Promise<void> };

async function open(place: Location, release: () => Promise<void>): Promise<End> {
  const database = await openDatabase('url' in place ? { url: place.url, connections: 1 } : place);
  const close = async () => {
    await database.close();
    await release();
  };
  try {
    await migrate(database, 'url' in place ? place.url : undefined);
    const [processes] = await rowsOf<{ count: number }>(
      database.db,
      sql`select count(*)::int as count from leases where expires_at > ledger_now()`,
    );
    if (database.kind === 'postgres' && (processes?.count ?? 0) > 0)
      throw new CommandError(
        `A service is using ${nameOf(place)}. Stop it, and run the command again. If it crashed, wait a minute first.`,
      );
    return { database, name: nameOf(place), close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** Opens and migrates a database. If `mayCreate`, creates one in a new folder. */
export async function openEnd(place: Location, mayCreate: boolean): Promise<End> {
  try {
    if ('url' in place) return await open(place, async () => {});
    if (!mayCreate && !existsSync(join(place.dataDir, 'PG_VERSION')))
      throw new CommandError(`There is no embedded database in ${place.dataDir}.`);
    process.umask(0o077);
    const lock = await lockDataDir(
      place.dataDir,
      commandHandler(() => undefined),
    );
    try {
      return await open(place, lock.release);
    } catch (error) {
      await lock.release().catch(() => {});
      throw error;
    }
  } catch (error) {
    if (error instanceof CommandError) throw error;
    if (error instanceof DataDirError) {
      const { folder, problem, remedy } = error;
      const todo = remedy === undefined ? '' : ` ${remedy}, and run the command again.`;
      throw new CommandError(`${folder} ${problem}.${todo}`, { cause: error });
    }
    throw new CommandError(`${nameOf(place)} cannot be used: ${reasonOf(error)}`, { cause: error });
  }
}
