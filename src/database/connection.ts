/**
 * One connection to Postgres, used until it is lost and never again. Reliability tests 32, 33 and 35.
 *
 * The driver (postgres.js 3.4.9) would connect again by itself, and take along what was under way: a statement that is
 * handed to a connection between its socket's `error` and `close` waits for ever, or is answered "no rows" by the greeting
 * of the next connection; a statement that was half written keeps the next connection from ever speaking; a server that
 * hangs up before it greets is called again without a pause and without an end. So every connection is a client of the
 * driver of its own, which calls each host once, and what was under way fails here when the connection is lost.
 */
import { connect, type Socket } from 'node:net';
import postgres, { type Sql } from 'postgres';

/** Below the patience with a statement, so that one that was never sent is known as such. */
const CONNECT_SECONDS = 4;
const END_SECONDS = 5;

/** The database cannot be had, or not any more. `code` is one of those that the driver uses. */
export class DatabaseUnavailable extends Error {
  override readonly name = 'DatabaseUnavailable';
  readonly code: string;

  constructor(code: 'ECONNREFUSED' | 'CONNECT_TIMEOUT' | 'CONNECTION_CLOSED', message: string) {
    super(message);
    this.code = code;
  }
}

export type ServerTimeouts = {
  /** A statement that takes longer is ended, and fails with SQLSTATE 57014. */
  statementMs: number;
  /** A transaction in which nothing happens for so long is ended, and its locks with it. */
  idleInTransactionMs: number;
  /** A transaction pooler takes them for each transaction only: a single statement becomes one. */
  isPooled: boolean;
};

export type ConnectionOptions = {
  url: string;
  /** A statement without an answer for so long fails, and its connection is given up; default: never. */
  patienceMs?: number | undefined;
  /** What the server itself allows a statement; default: what it is set to. */
  timeouts?: ServerTimeouts | undefined;
  /** Statements that prepare the connection for its work. */
  setUp?: string;
  /** How values are read and written, over what the driver does. */
  types?: Pick<Sql['options'], 'parsers' | 'serializers'>;
  /** The first of the hosts in the URL to try. */
  firstHost?: number;
};

export type StatementOptions = {
  /** Whether it is prepared on the server, by its text. */
  isPrepared?: boolean;
  /** Whether rows come as arrays instead of objects. */
  asArrays?: boolean;
};

/** What the driver knows of where the database is. */
type Target = { host: string[]; port: number[]; path?: string | false };

/** What the server says of a statement leaves the connection as it is, unless it says goodbye. */
const endsConnection = (error: unknown) =>
  !(error instanceof postgres.PostgresError) || error.severity === 'FATAL' || error.severity === 'PANIC';

export class Connection {
  readonly #sql: Sql;
  readonly #options: ConnectionOptions;
  readonly #onLost: (connection: Connection) => void;
  readonly #underWay = new Set<(error: unknown) => void>();
  readonly #begin: string;
  #calls = 0;
  #isSetUp = false;
  #socket: Socket | undefined;
  #loss: unknown;

  /** Connects with the first statement. */
  constructor(options: ConnectionOptions, onLost: (connection: Connection) => void = () => {}) {
    this.#options = options;
    this.#onLost = onLost;
    const { timeouts } = options;
    const parameters = timeouts && {
      statement_timeout: timeouts.statementMs,
      idle_in_transaction_session_timeout: timeouts.idleInTransactionMs,
    };
    const settings = Object.entries(parameters ?? {}).map(([name, ms]) => `set local ${name} = ${ms}`);
    this.#begin = timeouts?.isPooled ? ['begin', ...settings].join('; ') : 'begin';
    const driverOptions = {
      max: 1,
      onnotice: () => {},
      connect_timeout: CONNECT_SECONDS,
      max_lifetime: null,
      connection: { application_name: 'parley', ...(!timeouts?.isPooled && parameters) },
      // Asked on every new connection, and nobody catches it where the connection is lost then. Drizzle reads arrays itself.
      fetch_types: false,
      onclose: () => this.lose(),
      // The option is missing in the types.
      socket: (target: Target) => this.#call(target),
    };
    this.#sql = postgres(options.url, driverOptions);
    Object.assign(this.#sql.options.parsers, options.types?.parsers);
    Object.assign(this.#sql.options.serializers, options.types?.serializers);
  }

  get isLost(): boolean {
    return this.#loss !== undefined;
  }

  /** Begins a transaction. */
  begin = (): Promise<unknown[]> => this.run(this.#begin);

  /**
   * Runs a statement that is no part of a transaction. Behind a transaction pooler it becomes one, for its timeout: the
   * three statements go out together, so that this takes no more round trips.
   *
   * @throws as `run`; once it resolves, what the statement did is committed
   */
  async runAlone(...statement: Parameters<Connection['run']>): Promise<unknown[]> {
    if (!this.#options.timeouts?.isPooled) return this.run(...statement);
    const [begun, result, committed] = await Promise.allSettled([
      this.begin(),
      this.run(...statement),
      this.run('commit'),
    ]);
    for (const step of [begun, result, committed]) if (step.status === 'rejected') throw step.reason;
    return result.status === 'fulfilled' ? result.value : [];
  }

  /**
   * Runs a statement, after those that are under way.
   *
   * @throws DatabaseUnavailable where the connection was lost: whether the statement took effect is not known
   */
  run(text: string, parameters: unknown[] = [], options: StatementOptions = {}): Promise<unknown[]> {
    if (this.#loss !== undefined) return Promise.reject(this.#loss);
    const { patienceMs, setUp } = this.#options;
    if (setUp !== undefined && !this.#isSetUp) {
      this.#isSetUp = true;
      // Sent before the statement. Where it fails the connection is lost, and the statement fails too.
      this.run(setUp).catch((error) => this.lose(error));
    }
    return new Promise((resolve, reject) => {
      const settle = (act: (value: never) => void) => (value: unknown) => {
        clearTimeout(timer);
        this.#underWay.delete(fail);
        act(value as never);
      };
      const fail = settle(reject);
      const late = () =>
        this.lose(new DatabaseUnavailable('CONNECTION_CLOSED', `No answer within ${patienceMs} ms.`));
      const timer = patienceMs === undefined ? undefined : setTimeout(late, patienceMs);
      this.#underWay.add(fail);
      const query = this.#sql.unsafe(text, parameters as never[], { prepare: options.isPrepared ?? false });
      (options.asArrays ? query.values() : query).then(settle(resolve), (error) => {
        if (endsConnection(error)) this.lose(error);
        fail(error);
      });
    });
  }

  /** Gives the connection up: what is under way fails. */
  lose(error: unknown = new DatabaseUnavailable('CONNECTION_CLOSED', 'The connection was lost.')): void {
    if (this.#loss !== undefined) return;
    this.#loss = error;
    for (const fail of this.#underWay) fail(error);
    this.#socket?.destroy();
    this.#sql.end({ timeout: 0 }).catch(() => {});
    this.#onLost(this);
  }

  /** Ends it after what is under way, which has 5 s. */
  async end(): Promise<void> {
    await this.#sql.end({ timeout: END_SECONDS });
    this.lose();
  }

  /** A socket for the driver. It asks again where a host hung up: then it is the next one's turn. */
  #call({ host, path, port }: Target): Socket {
    if (this.isLost || this.#calls === host.length) {
      const error = new DatabaseUnavailable('ECONNREFUSED', 'The database did not accept the connection.');
      this.lose(error);
      throw error;
    }
    const index = ((this.#options.firstHost ?? 0) + this.#calls++) % host.length;
    const where = { host: host[index] ?? 'localhost', port: port[index] ?? 5432 };
    this.#socket = path ? connect(path) : connect(where);
    return Object.assign(this.#socket, where);
  }
}
