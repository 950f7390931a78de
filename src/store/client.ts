/** The database: Postgres through `postgres`, or PGlite in the process. Contract section 11. */
import { PGlite } from '@electric-sql/pglite';
import { type SQL, sql } from 'drizzle-orm';
import type { PgDatabase, PgQueryResultHKT } from 'drizzle-orm/pg-core';
import { drizzle as drizzlePglite } from 'drizzle-orm/pglite';
import { drizzle as drizzlePostgres } from 'drizzle-orm/postgres-js';
import { Connection } from './connection.ts';
import { drizzleClient } from './driver.ts';
import { Pool } from './pool.ts';
import * as tables from './tables.ts';

/** The database or a transaction on it: what every store function takes first. */
export type Db = PgDatabase<PgQueryResultHKT, typeof tables>;

export type Database = {
  db: Db;
  kind: 'postgres' | 'embedded';
  /**
   * A statement of the ledger: prepared on the server, on connections of its own, so that neither waits for the rest.
   *
   * @throws DatabaseUnavailable when there is no answer within `STATEMENT_TIMEOUT_MS`; it may still take effect
   */
  run<Row>(text: string, parameters: unknown[]): Promise<Row[]>;
  /** A statement that is repeated all the time: prepared on the server. */
  prepared<Row>(text: string, parameters: unknown[]): Promise<Row[]>;
  /**
   * Calls back for each notification on a channel, before the answer to the statement that sent it is seen. Of the embedded
   * database only: what comes from Postgres can stay out, and `store/key-changes.ts` sees to that.
   */
  listen?(channel: string, onPayload: (payload: string) => void): Promise<unknown>;
  /** Server version, e.g. `15.18`. */
  version(): Promise<string>;
  close(): Promise<void>;
};

/** Where the database is: a Postgres URL, a folder for the embedded one, or an image of an embedded one (tests). */
export type DatabaseLocation = PostgresLocation | { dataDir: string } | { image: Blob };

export type PostgresLocation = {
  url: string;
  /** For everything but the ledger, which has its own. */
  connections?: number;
  /** Whether the URL leads to a transaction pooler. */
  isPooled?: boolean;
  /** A statement without an answer for so long fails; default: never, for commands that read a lot. */
  patienceMs?: number;
};

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

/** Nothing was sent: the database did not take the connection. */
const refusedCodes = /^(CONNECT_TIMEOUT|ECONNREFUSED|ENOTFOUND|EAI_AGAIN|ENOENT|57P03|53300)$/;
/** The connection ended under way: whether the statement took effect is not known. */
const lostCodes =
  /^(CONNECTION_CLOSED|CONNECTION_DESTROYED|CONNECTION_ENDED|ECONNRESET|EPIPE|ETIMEDOUT|08...|57P0[125])$/;
/** The database answered, and did nothing: locked, out of something, read-only. */
const busyCodes = /^(53...|55P03|40P01|40001|25006)$/;

/** Whether a statement failed before it reached the database. */
export const wasNotSent = (error: unknown): boolean => refusedCodes.test(sqlState(error) ?? '');

/** Whether a statement failed so that it may or may not have taken effect. */
export const mayHaveTakenEffect = (error: unknown): boolean => lostCodes.test(sqlState(error) ?? '');

/** Whether a statement failed because of the database's state, not because of the statement: worth another try later. */
export const isUnavailable = (error: unknown): boolean =>
  wasNotSent(error) || mayHaveTakenEffect(error) || busyCodes.test(sqlState(error) ?? '');

/** A database that hangs does not hold requests longer than this. */
export const STATEMENT_TIMEOUT_MS = 5000;
/** Admissions and settlements, each in common batches and in two lanes of single accounts. */
const LEDGER_CONNECTIONS = 6;

function openPostgres({ connections = 10, isPooled = false, patienceMs, url }: PostgresLocation): Database {
  const types = { parsers: {}, serializers: {} };
  const client = new Pool(connections, { url, patienceMs, types });
  const transactions = new Pool(Math.ceil(connections / 2), { url, patienceMs, types });
  const ledger = new Pool(LEDGER_CONNECTIONS, { url, patienceMs: STATEMENT_TIMEOUT_MS });
  const db = drizzlePostgres(
    drizzleClient(
      types,
      (work) => client.use(work),
      (work) => transactions.use(work),
    ),
    { schema: tables },
  ) as unknown as Db;
  return {
    db,
    kind: 'postgres',
    // A transaction pooler hands each transaction another connection, which knows no prepared statement.
    run: <Row>(text: string, parameters: unknown[]) =>
      ledger.use(
        (connection) => connection.run(text, parameters, { isPrepared: !isPooled }) as Promise<Row[]>,
      ),
    prepared: <Row>(text: string, parameters: unknown[]) =>
      client.use(
        (connection) => connection.run(text, parameters, { isPrepared: !isPooled }) as Promise<Row[]>,
      ),
    version: async () => {
      const [row] = await rowsOf<{ server_version: string }>(db, sql`show server_version`);
      return row?.server_version.split(' ')[0] ?? '';
    },
    close: async () => {
      await Promise.all([client, transactions, ledger].map((pool) => pool.close()));
    },
  };
}

/**
 * One connection for work that holds a lock of its session: once it is lost, so is the lock, and every statement fails.
 *
 * @param url - without a transaction pooler in between
 */
export function openSession(url: string): { db: Db; close(): Promise<void>; lose(): void } {
  const types = { parsers: {}, serializers: {} };
  const connection = new Connection({ url, types });
  const use = <T>(work: (connection: Connection) => Promise<T>) => work(connection);
  return {
    db: drizzlePostgres(drizzleClient(types, use, use), { schema: tables }) as unknown as Db,
    close: () => connection.end(),
    lose: () => connection.lose(),
  };
}

async function openEmbedded(location: { dataDir: string } | { image: Blob }): Promise<Database> {
  const client = await ('dataDir' in location
    ? PGlite.create(location.dataDir)
    : PGlite.create({ loadDataDir: location.image }));
  const run = async <Row>(text: string, parameters: unknown[]) =>
    (await client.query<Row>(text, parameters)).rows;
  return {
    db: drizzlePglite(client, { schema: tables }) as unknown as Db,
    kind: 'embedded',
    run,
    prepared: run,
    listen: (channel, onPayload) => client.listen(channel, onPayload),
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
  return 'url' in location ? openPostgres(location) : openEmbedded(location);
}
