/** A Postgres server or the embedded database. Both use the same driver and statements. Contract section 11. */
import { type SQL, sql } from 'drizzle-orm';
import type { PgDatabase, PgQueryResultHKT } from 'drizzle-orm/pg-core';
import { drizzle as drizzlePostgres } from 'drizzle-orm/postgres-js';
import { Connection, type ConnectionOptions, type ServerTimeouts } from './connection.ts';
import { shareConnections } from './connection-shares.ts';
import { drizzleClient } from './driver.ts';
import { startEmbeddedPostgres } from './embedded.ts';
import { Pool, type PoolState } from './pool.ts';
import * as tables from './tables.ts';

export type Db = PgDatabase<PgQueryResultHKT, typeof tables>;

export type Listener = {
  onPayload(payload: string): void;
  /** Notifications may have been lost, but later ones will arrive. `error` is set if the database crashed. */
  onGap(error?: unknown): void;
};

export type Database = {
  db: Db;
  kind: 'postgres' | 'embedded';
  /** Uses the ledger's own connections. After `DatabaseUnavailable`, the statement may still take effect. */
  run<Row>(text: string, parameters: unknown[]): Promise<Row[]>;
  prepared<Row>(text: string, parameters: unknown[]): Promise<Row[]>;
  /** Embedded database only. Call it once. For servers, `store/key-changes.ts` handles lost notifications. */
  listen?(channel: string, listener: Listener): Promise<unknown>;
  /** The server version, such as `15.18`. */
  version(): Promise<string>;
  close(): Promise<void>;
  /** Embedded database only. Copies its files to a new folder, between two statements. */
  copyTo?(folder: string): Promise<{ bytes: number; ms: number }>;
  pools(): (PoolState & { pool: string })[];
  /** When the database last responded, in milliseconds of `performance.now()`. */
  answeredAt(): number;
  /** How many accounts with their own queue may write at once, per kind of ledger write. */
  queues: number;
};

/** A Postgres URL, or the directory of the embedded database. */
export type DatabaseLocation = PostgresLocation | { dataDir: string };

export type PostgresLocation = {
  url: string;
  /** The most connections of the process, including those that listen and migrate. */
  connections?: number;
  isPooled?: boolean;
  /** Statement timeout in milliseconds, on client and server. Default: none, for commands that read much data. */
  timeoutMs?: number;
};

export async function rowsOf<Row>(db: Db, statement: SQL): Promise<Row[]> {
  return (await db.execute(statement)) as unknown as Row[];
}

/** The SQLSTATE of a failed statement, or the driver's error code. */
export function sqlState(error: unknown): string | undefined {
  const cause = error instanceof Error && error.cause !== undefined ? error.cause : error;
  const code = (cause as { code?: unknown } | null)?.code;
  return typeof code === 'string' ? code : undefined;
}

/** The connection was not established, so nothing was sent. */
const refusedCodes = /^(CONNECT_TIMEOUT|ECONNREFUSED|ENOTFOUND|EAI_AGAIN|ENOENT|57P03|53300)$/;
/** The connection was lost while the statement was in flight, so it may have taken effect. */
const lostCodes =
  /^(CONNECTION_CLOSED|CONNECTION_DESTROYED|CONNECTION_ENDED|ECONNRESET|EPIPE|ETIMEDOUT|08...|25P03|57P0[125])$/;
/** The database responded but did nothing: locked, out of resources, read-only, timed out, or a system failure. */
const busyCodes = /^(5[38]...|55P03|40P01|40001|25006|57014)$/;

export const wasNotSent = (error: unknown): boolean => refusedCodes.test(sqlState(error) ?? '');

export const mayHaveTakenEffect = (error: unknown): boolean => lostCodes.test(sqlState(error) ?? '');

export const isBusy = (error: unknown): boolean => busyCodes.test(sqlState(error) ?? '');

/** Whether the database's state, not the statement, caused the failure. If so, a later retry may succeed. */
export const isUnavailable = (error: unknown): boolean =>
  wasNotSent(error) || mayHaveTakenEffect(error) || isBusy(error);

export const NO_CONNECTION_LEFT = '53300';

export const noConnectionLeft = (connections: number | undefined): string =>
  `Postgres has no free connections for this process, which needs up to ${connections} (SQLSTATE ${NO_CONNECTION_LEFT}). Raise max_connections or the connection limit of the role, or lower DATABASE_CONNECTIONS on each process.`;

export const STATEMENT_TIMEOUT_MS = 5000;

/** The server times out before the client, so that the statement has ended and the connection survives. */
const timeoutsFor = (timeoutMs: number, isPooled: boolean): ServerTimeouts => ({
  statementMs: Math.round(timeoutMs * 0.9),
  idleInTransactionMs: 2 * timeoutMs,
  isPooled,
});

/** Whether a server rejects timeouts per connection, as transaction poolers do. Throws if it is unreachable. */
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

/** Drizzle sets its parsers and serializers here, for all connections that share them. */
const newTypes = (): NonNullable<ConnectionOptions['types']> => ({ parsers: {}, serializers: {} });

function openPools(
  pools: { statements: Pool; transactions: Pool; ledger: Pool },
  types: ReturnType<typeof newTypes>,
  isPrepared: boolean,
): Pick<Database, 'db' | 'run' | 'prepared' | 'version' | 'close' | 'pools' | 'answeredAt'> {
  const { ledger, statements, transactions } = pools;
  // The embedded database has one pool for everything.
  const named = new Map(Object.entries(pools).map(([name, pool]) => [pool, name]));
  const db = drizzlePostgres(
    drizzleClient(
      types,
      (work) => statements.use(work),
      (work) => transactions.use(work),
    ),
    { schema: tables },
  ) as unknown as Db;
  const runOn =
    (pool: Pool) =>
    <Row>(text: string, parameters: unknown[]) =>
      pool.use((connection) => connection.runAlone(text, parameters, { isPrepared }) as Promise<Row[]>);
  return {
    db,
    run: runOn(ledger),
    prepared: runOn(statements),
    version: async () => {
      const [row] = await rowsOf<{ server_version: string }>(db, sql`show server_version`);
      return row?.server_version.split(' ')[0] ?? '';
    },
    close: async () => {
      await Promise.all([...named.keys()].map((pool) => pool.close()));
    },
    pools: () => [...named].map(([pool, name]) => ({ pool: name, ...pool.state })),
    answeredAt: () => Math.max(...[...named.keys()].map((pool) => pool.answeredAt)),
  };
}

function openPostgres({ connections = 20, isPooled = false, timeoutMs, url }: PostgresLocation): Database {
  const types = newTypes();
  const timeouts = timeoutMs === undefined ? undefined : timeoutsFor(timeoutMs, isPooled);
  const shares = shareConnections(connections);
  const pools = {
    statements: new Pool(shares.statements, { url, timeoutMs, timeouts, types }),
    transactions: new Pool(shares.transactions, { url, timeoutMs, timeouts, types }),
    ledger: new Pool(shares.ledger, {
      url,
      timeoutMs: STATEMENT_TIMEOUT_MS,
      timeouts: timeoutsFor(STATEMENT_TIMEOUT_MS, isPooled),
      types,
    }),
  };
  // Behind a transaction pooler, the next transaction may use a connection without the prepared statement.
  return { ...openPools(pools, types, !isPooled), kind: 'postgres', queues: shares.queues };
}

/** Opens a session for work under a session lock. It has no statement timeout, because migrations may be slow. */
export function openSession(url: string): { db: Db; close(): Promise<void>; lose(): void } {
  const types = newTypes();
  const connection = new Connection({ url, types, setUp: 'set statement_timeout = 0' });
  const use = <T>(work: (connection: Connection) => Promise<T>) => work(connection);
  return {
    db: drizzlePostgres(drizzleClient(types, use, use), { schema: tables }) as unknown as Db,
    close: () => connection.end(),
    lose: () => connection.lose(),
  };
}

/** Uses one session for everything, and no timeout, because PGlite has one session and cannot interrupt a statement. */
function openEmbedded(dataDir: string): Opening {
  let listener: Listener | undefined;
  const postgres = startEmbeddedPostgres(dataDir, (error) => listener?.onGap(error));
  const types = newTypes();
  const options: ConnectionOptions = {
    connect: () => {
      // Only has an effect on connections after the first.
      listener?.onGap();
      return postgres.connect();
    },
    types,
    onNotification: (_channel, payload) => listener?.onPayload(payload),
  };
  const pool = new Pool(1, options);
  const pools = openPools({ statements: pool, transactions: pool, ledger: pool }, types, true);
  const database: Database = {
    ...pools,
    kind: 'embedded',
    queues: 1,
    listen: async (channel, onNews) => {
      listener = onNews;
      // For this connection, and for later ones after a crash.
      options.setUp = `listen ${channel}`;
      await pools.run(options.setUp, []);
    },
    copyTo: (folder) => postgres.copyTo(folder),
    close: async () => {
      await pools.close();
      await postgres.close();
    },
  };
  return { database, opened: postgres.started };
}

/** A database that is being opened. Its statements wait until it is open. */
export type Opening = {
  database: Database;
  /** Rejects if the database cannot be opened. For a server, it resolves before any connection is made. */
  opened: Promise<void>;
};

/** Starts to open a database. Close it even if it could not be opened. */
export const startOpening = (location: DatabaseLocation): Opening =>
  'url' in location
    ? { database: openPostgres(location), opened: Promise.resolve() }
    : openEmbedded(location.dataDir);

/** Opens a database. Closes it again and throws if it cannot be opened. */
export async function openDatabase(location: DatabaseLocation): Promise<Database> {
  const { database, opened } = startOpening(location);
  try {
    await opened;
  } catch (error) {
    await database.close();
    throw error;
  }
  return database;
}
