/** The database: Postgres through `postgres`, or PGlite in the process. Contract section 11. */
import { PGlite } from '@electric-sql/pglite';
import type { SQL } from 'drizzle-orm';
import type { PgDatabase, PgQueryResultHKT } from 'drizzle-orm/pg-core';
import { drizzle as drizzlePglite } from 'drizzle-orm/pglite';
import { drizzle as drizzlePostgres } from 'drizzle-orm/postgres-js';
import postgres from 'postgres';
import { patientSockets } from './patient-socket.ts';
import * as tables from './tables.ts';
import { survivingTransactions } from './transactions.ts';

/** The database or a transaction on it: what every store function takes first. */
export type Db = PgDatabase<PgQueryResultHKT, typeof tables>;

export type Database = {
  db: Db;
  kind: 'postgres' | 'embedded';
  /**
   * A statement of the ledger: prepared on the server, on connections of its own, so that neither waits for the rest.
   *
   * @throws StatementTimeout when there is no answer within `STATEMENT_TIMEOUT_MS`; it may still take effect
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
  /** A connection that has not answered for so long is ended; default: never, for commands that read a lot. */
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
/**
 * The connection ended under way: whether the statement took effect is not known. (`UNSAFE_TRANSACTION` is what becomes of
 * a BEGIN that was waiting on a connection when it was lost, now and then.)
 */
const lostCodes =
  /^(CONNECTION_CLOSED|CONNECTION_DESTROYED|CONNECTION_ENDED|ECONNRESET|EPIPE|ETIMEDOUT|08...|57P0[125]|UNSAFE_TRANSACTION)$/;
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
const LEDGER_CONNECTIONS = 4;

/**
 * How many statements may follow one that has not been answered on the same connection: they would wait for its locks,
 * while other connections are free. (The option is missing in the types. Transactions need 1.)
 */
const pipeline = (statements: 0 | 1) => ({ max_pipeline: statements });

/** Idle connections end before they could be taken for hung ones. (`socket` is missing in the types, too.) */
const patience = (ms: number | undefined) =>
  ms === undefined ? {} : { socket: patientSockets(ms), idle_timeout: ms / 2000 };

/** No answer in time: whether the statement took effect is not known. */
export class StatementTimeout extends Error {
  override readonly name = 'StatementTimeout';
  readonly code = 'CONNECTION_CLOSED';
}

function withTimeout<T>(statement: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(
      () => reject(new StatementTimeout(`No answer within ${STATEMENT_TIMEOUT_MS} ms.`)),
      STATEMENT_TIMEOUT_MS,
    );
    statement.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}

const connect = (
  { isPooled = false, patienceMs, url }: PostgresLocation,
  connections: number,
  behind: 0 | 1,
) =>
  postgres(url, {
    max: connections,
    onnotice: () => {},
    connect_timeout: 5,
    // Come back soon after an outage: the default waits for up to 20 s.
    backoff: () => 0.1 + Math.random() * 0.2,
    // A transaction pooler hands each transaction another connection, which knows no prepared statement.
    prepare: !isPooled,
    connection: { application_name: 'parley' },
    // Asked on every new connection, and nobody catches it where the connection is lost then. Drizzle reads arrays itself.
    fetch_types: false,
    ...pipeline(behind),
    ...patience(patienceMs),
  });

function openPostgres(location: PostgresLocation): Database {
  const { connections = 10, isPooled = false } = location;
  const client = connect(location, connections, 0);
  const transactions = connect(location, Math.ceil(connections / 2), 1);
  const ledger = connect(location, LEDGER_CONNECTIONS, 0);
  return {
    db: drizzlePostgres(survivingTransactions(client, transactions, mayHaveTakenEffect), {
      schema: tables,
    }) as unknown as Db,
    kind: 'postgres',
    run: <Row>(text: string, parameters: unknown[]) =>
      withTimeout(
        ledger
          .unsafe(text, parameters as never[], { prepare: !isPooled })
          .then((rows) => rows as unknown as Row[]),
      ),
    prepared: async <Row>(text: string, parameters: unknown[]) =>
      (await client.unsafe(text, parameters as never[], { prepare: !isPooled })) as unknown as Row[],
    version: async () => (await client`show server_version`)[0]?.server_version.split(' ')[0],
    close: async () => {
      await Promise.all([client, transactions, ledger].map((each) => each.end({ timeout: 5 })));
    },
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
