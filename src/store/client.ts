/** The database: Postgres through `postgres`, or PGlite in the process. Contract section 11. */
import { PGlite } from '@electric-sql/pglite';
import type { SQL } from 'drizzle-orm';
import type { PgDatabase, PgQueryResultHKT } from 'drizzle-orm/pg-core';
import { drizzle as drizzlePglite } from 'drizzle-orm/pglite';
import { drizzle as drizzlePostgres } from 'drizzle-orm/postgres-js';
import postgres from 'postgres';
import * as tables from './tables.ts';

/** The database or a transaction on it: what every store function takes first. */
export type Db = PgDatabase<PgQueryResultHKT, typeof tables>;

export type Database = {
  db: Db;
  kind: 'postgres' | 'embedded';
  /** Server version, e.g. `15.18`. */
  version(): Promise<string>;
  close(): Promise<void>;
};

/** Where the database is: a Postgres URL, a folder for the embedded one, or an image of an embedded one (tests). */
export type DatabaseLocation = { url: string; connections?: number } | { dataDir: string } | { image: Blob };

/** Rows of a raw statement: the two drivers wrap them differently. */
export async function rowsOf<Row>(db: Db, statement: SQL): Promise<Row[]> {
  const result: unknown = await db.execute(statement);
  return (Array.isArray(result) ? result : (result as { rows: Row[] }).rows) as Row[];
}

/** The SQLSTATE of a failed statement, if the database refused it. */
export function sqlState(error: unknown): string | undefined {
  const cause = error instanceof Error && error.cause !== undefined ? error.cause : error;
  const code = (cause as { code?: unknown } | null)?.code;
  return typeof code === 'string' ? code : undefined;
}

/** Driver codes and SQLSTATE classes that say that the database cannot be reached or will not serve right now. */
const unreachableCodes =
  /^(CONNECT_TIMEOUT|CONNECTION_CLOSED|CONNECTION_DESTROYED|CONNECTION_ENDED|ECONNREFUSED|ECONNRESET|EPIPE|ETIMEDOUT|ENOTFOUND|EAI_AGAIN|ENOENT|08...|57P0[1-5]|53...|55P03|40P01|40001|25006)$/;

/** Whether a statement failed because of the database's state, not because of the statement: worth another try later. */
export const isUnavailable = (error: unknown): boolean => unreachableCodes.test(sqlState(error) ?? '');

function openPostgres(url: string, connections: number): Database {
  const client = postgres(url, {
    max: connections,
    onnotice: () => {},
    connect_timeout: 5,
    connection: { application_name: 'parley' },
  });
  return {
    db: drizzlePostgres(client, { schema: tables }) as unknown as Db,
    kind: 'postgres',
    version: async () => (await client`show server_version`)[0]?.server_version.split(' ')[0],
    close: () => client.end({ timeout: 5 }),
  };
}

async function openEmbedded(location: { dataDir: string } | { image: Blob }): Promise<Database> {
  const client = await ('dataDir' in location
    ? PGlite.create(location.dataDir)
    : PGlite.create({ loadDataDir: location.image }));
  return {
    db: drizzlePglite(client, { schema: tables }) as unknown as Db,
    kind: 'embedded',
    version: async () => {
      const { rows } = await client.query<{ server_version: string }>('show server_version');
      return rows[0]?.server_version.split(' ')[0] ?? '';
    },
    close: () => client.close(),
  };
}

/**
 * Opens the database. Postgres is connected to lazily, by the first query.
 *
 * @param location - where it is
 */
export async function openDatabase(location: DatabaseLocation): Promise<Database> {
  return 'url' in location ? openPostgres(location.url, location.connections ?? 10) : openEmbedded(location);
}
