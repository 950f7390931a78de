/** Checks whether the database is reachable, and lets it check itself. Contract section 11. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { sql } from 'drizzle-orm';
import type { Config } from '../../config.ts';
import { isTransactionPooler, openSession, rowsOf, sqlState } from '../../database/client.ts';
import { CommandError } from '../command.ts';
import { onDatabaseOf } from '../command-line.ts';
import { doctorDatabase } from './database.ts';
import { dnsRemedies, type Finding, isError, isWarning, reasonOf } from './finding.ts';

const remedies: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'Start Postgres, or correct the host and port',
  ...dnsRemedies,
  CONNECT_TIMEOUT: 'Check the firewall between this machine and Postgres, or correct the host',
  '28P01': 'Correct the user and password',
  '28000': 'Allow the user in pg_hba.conf, or correct the user',
  '3D000': 'Create the database with createdb, or correct its name',
  '53300': 'Raise max_connections, stop other clients of the server, or correct the server',
};

function unreachable(about: string, error: unknown): Finding {
  const reason = sqlState(error) ?? reasonOf(error);
  return isError(
    about,
    `The database cannot be used (${reason}).`,
    `${remedies[reason] ?? 'Check that Postgres is running, and check the address'} in ${about}.`,
  );
}

/** Identifies the database behind a URL, regardless of the name in the URL. */
async function identity(url: string): Promise<string> {
  const { close, db } = openSession(url);
  try {
    const [row] = await rowsOf<{ id: string }>(
      db,
      sql`select pg_postmaster_start_time()::text || ' ' || oid::text as id from pg_database where datname = current_database()`,
    );
    return row?.id ?? '';
  } finally {
    await close();
  }
}

async function checkUrls(url: string, directUrl: string): Promise<Finding[]> {
  let main: string;
  let isPooled: boolean;
  try {
    isPooled = await isTransactionPooler(url);
    main = await identity(url);
  } catch (error) {
    return [unreachable('DATABASE_URL', error)];
  }
  if (directUrl === url)
    return isPooled
      ? [
          isWarning(
            'DATABASE_DIRECT_URL',
            'DATABASE_URL points to a transaction pooler, so keys are not cached, and migrations are not locked.',
            'Set DATABASE_DIRECT_URL to the URL of the database itself.',
          ),
        ]
      : [];
  try {
    if ((await identity(directUrl)) === main) return [];
    return [
      isError(
        'DATABASE_DIRECT_URL',
        'It points to a different database than DATABASE_URL.',
        'Set DATABASE_DIRECT_URL to the database behind the pooler in DATABASE_URL.',
      ),
    ];
  } catch (error) {
    return [unreachable('DATABASE_DIRECT_URL', error)];
  }
}

/** If the running service holds the embedded database, the check runs there. */
export async function checkConnection(config: Config): Promise<Finding[]> {
  const { databaseDirectUrl, databaseUrl, dataDir } = config;
  if (databaseUrl === undefined && !existsSync(join(dataDir, 'PG_VERSION'))) return [];
  const findings =
    databaseUrl === undefined ? [] : await checkUrls(databaseUrl, databaseDirectUrl ?? databaseUrl);
  if (findings.some(({ about }) => about === 'DATABASE_URL')) return findings;
  try {
    const { value } = await onDatabaseOf(config, doctorDatabase.name, [], { migrates: false });
    return [...findings, ...(value as Finding[])];
  } catch (error) {
    const message = error instanceof CommandError ? error.message : reasonOf(error);
    return [
      ...findings,
      isError(
        databaseUrl === undefined ? 'DATA_DIR' : 'DATABASE_URL',
        `The database could not be checked: ${message.replace(/\.$/, '')}.`,
        'Check the logs of the service and the database. To return to an earlier state, restore a backup.',
      ),
    ];
  }
}
