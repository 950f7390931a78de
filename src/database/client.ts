/** The database: Postgres through `postgres`, or PGlite in the process. Contract section 11. */
import { PGlite } from '@electric-sql/pglite';
import { type SQL, sql } from 'drizzle-orm';
import type { PgDatabase, PgQueryResultHKT } from 'drizzle-orm/pg-core';
import { drizzle as drizzlePglite } from 'drizzle-orm/pglite';
import { drizzle as drizzlePostgres } from 'drizzle-orm/postgres-js';
import { Connection, type ServerTimeouts } from './connection.ts';
import { shareConnections } from './connection-shares.ts';
import { drizzleClient } from './driver.ts';
import { Pool } from './pool.ts';
import { closeContents } from './private-folder.ts';
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
  /** How many accounts that are in the way of others may write at the same time, of each kind of write to the ledger. */
  queues: number;
};

/** Where the database is: a Postgres URL, a folder for the embedded one, or an image of an embedded one (tests). */
export type DatabaseLocation = PostgresLocation | { dataDir: string } | { image: Blob };

export type PostgresLocation = {
  url: string;
  /** Most connections of the process, those that listen and migrate included. */
  connections?: number;
  /** Whether the URL leads to a transaction pooler. */
  isPooled?: boolean;
  /** A statement without an answer for so long fails, and the server ends it; default: never, for commands that read a lot. */
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
  /^(CONNECTION_CLOSED|CONNECTION_DESTROYED|CONNECTION_ENDED|ECONNRESET|EPIPE|ETIMEDOUT|08...|25P03|57P0[125])$/;
/** The database answered, and did nothing: locked, out of something, read-only, out of time. */
const busyCodes = /^(53...|55P03|40P01|40001|25006|57014)$/;

/** Whether a statement failed before it reached the database. */
export const wasNotSent = (error: unknown): boolean => refusedCodes.test(sqlState(error) ?? '');

/** Whether a statement failed so that it may or may not have taken effect. */
export const mayHaveTakenEffect = (error: unknown): boolean => lostCodes.test(sqlState(error) ?? '');

/** Whether a statement failed because of the database's state, not because of the statement: worth another try later. */
export const isUnavailable = (error: unknown): boolean =>
  wasNotSent(error) || mayHaveTakenEffect(error) || busyCodes.test(sqlState(error) ?? '');

/** SQLSTATE of a server that takes no further connection. */
export const NO_CONNECTION_LEFT = '53300';

/** What an operator can do about that, in one line. */
export const noConnectionLeft = (connections: number | undefined): string =>
  `Postgres has no free connections for this process, which needs up to ${connections} (SQLSTATE ${NO_CONNECTION_LEFT}). Raise max_connections or the connection limit of the role, or lower DATABASE_CONNECTIONS on each process.`;

/** A database that hangs does not hold requests longer than this. */
export const STATEMENT_TIMEOUT_MS = 5000;

/** The server gives a statement up before its client does: then it has ended, and its connection lives on. */
const timeoutsFor = (patienceMs: number, isPooled: boolean): ServerTimeouts => ({
  statementMs: Math.round(patienceMs * 0.9),
  idleInTransactionMs: 2 * patienceMs,
  isPooled,
});

/**
 * Whether a server refuses to set timeouts for a connection, as transaction poolers do.
 *
 * @throws where it cannot be reached
 */
export async function isTransactionPooler(url: string): Promise<boolean> {
  const connection = new Connection({ url, timeouts: timeoutsFor(STATEMENT_TIMEOUT_MS, false) });
  try {
    await connection.run('select 1');
    return false;
  } catch (error) {
    if (error instanceof Error && error.message.includes('unsupported startup parameter')) return true;
    throw error;
  } finally {
    await connection.end();
  }
}

function openPostgres({ connections = 20, isPooled = false, patienceMs, url }: PostgresLocation): Database {
  const types = { parsers: {}, serializers: {} };
  const timeouts = patienceMs === undefined ? undefined : timeoutsFor(patienceMs, isPooled);
  const shares = shareConnections(connections);
  const client = new Pool(shares.statements, { url, patienceMs, timeouts, types });
  const transactions = new Pool(shares.transactions, { url, patienceMs, timeouts, types });
  const ledger = new Pool(shares.ledger, {
    url,
    patienceMs: STATEMENT_TIMEOUT_MS,
    timeouts: timeoutsFor(STATEMENT_TIMEOUT_MS, isPooled),
  });
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
    queues: shares.queues,
    // A transaction pooler hands each transaction another connection, which knows no prepared statement.
    run: <Row>(text: string, parameters: unknown[]) =>
      ledger.use(
        (connection) => connection.runAlone(text, parameters, { isPrepared: !isPooled }) as Promise<Row[]>,
      ),
    prepared: <Row>(text: string, parameters: unknown[]) =>
      client.use(
        (connection) => connection.runAlone(text, parameters, { isPrepared: !isPooled }) as Promise<Row[]>,
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
 * No statement is ended for taking long, whatever the database is set to: a migration may.
 *
 * @param url - without a transaction pooler in between
 */
export function openSession(url: string): { db: Db; close(): Promise<void>; lose(): void } {
  const types = { parsers: {}, serializers: {} };
  const connection = new Connection({ url, types, setUp: 'set statement_timeout = 0' });
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
  // It unpacks its files for everybody to read and write, whatever the umask. (`memory://` has none.)
  if ('dataDir' in location && !location.dataDir.includes('://')) await closeContents(location.dataDir);
  const run = async <Row>(text: string, parameters: unknown[]) =>
    (await client.query<Row>(text, parameters)).rows;
  return {
    db: drizzlePglite(client, { schema: tables }) as unknown as Db,
    kind: 'embedded',
    queues: 2,
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
