/**
 * One connection to Postgres, never reused once lost. Reliability tests 32, 33, and 35.
 *
 * The driver (postgres.js 3.4.9) reconnects and mishandles in-flight statements. A statement sent between the socket's
 * `error` and `close` waits forever, or gets "no rows" from the next connection's greeting. A half-written one blocks
 * the next connection. If a server hangs up before its greeting, the driver redials endlessly, without a pause.
 * Therefore every connection has its own driver client, which dials each host once. If the connection is lost, this
 * class fails its statements.
 */
import { connect } from 'node:net';
import type { Duplex } from 'node:stream';
import postgres, { type Sql } from 'postgres';

/** Less than the statement timeout, so that a statement that was never sent is recognized as such. */
const CONNECT_SECONDS = 4;
/** After a crash of the embedded database, connecting includes recovery. */
const EMBEDDED_SECONDS = 60;
const END_SECONDS = 5;

/** `code` is one of the driver's error codes. */
export class DatabaseUnavailable extends Error {
  override readonly name = 'DatabaseUnavailable';
  readonly code: string;

  constructor(code: 'ECONNREFUSED' | 'CONNECT_TIMEOUT' | 'CONNECTION_CLOSED', message: string) {
    super(message);
    this.code = code;
  }
}

export type ServerTimeouts = {
  statementMs: number;
  idleInTransactionMs: number;
  /** Transaction poolers only accept timeouts per transaction, so a single statement becomes a transaction. */
  isPooled: boolean;
};

export type ConnectionOptions = {
  /** The URL of a server. */
  url?: string;
  /** Opens a stream of the wire protocol to the embedded database instead. */
  connect?: () => Duplex;
  onNotification?: (channel: string, payload: string) => void;
  /** After this many milliseconds without a response, a statement fails and the connection closes. Default: never. */
  timeoutMs?: number | undefined;
  /** Default: the server's own timeouts. */
  timeouts?: ServerTimeouts | undefined;
  /** A statement to run before the first one. */
  setUp?: string;
  types?: Pick<Sql['options'], 'parsers' | 'serializers'>;
  firstHost?: number;
};

export type StatementOptions = {
  isPrepared?: boolean;
  asArrays?: boolean;
};

/** The driver requires a URL, but uses no part of it. */
const EMBEDDED_URL = 'postgres://embedded@localhost/postgres?sslmode=disable';

type Target = { host: string[]; port: number[]; path?: string | false };

/** Errors from the server leave the connection usable, unless they are fatal. */
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
  #socket: Duplex | undefined;
  #loss: unknown;

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
      connect_timeout: options.connect === undefined ? CONNECT_SECONDS : EMBEDDED_SECONDS,
      max_lifetime: null,
      connection: { application_name: 'parley', ...(!timeouts?.isPooled && parameters) },
      // Otherwise the driver fetches types on each new connection, with an unhandled rejection if that is lost.
      fetch_types: false,
      onclose: () => this.lose(),
      // The driver's types lack this option and `socket`.
      onnotify: options.onNotification,
      socket: (target: Target) => this.#call(target),
    };
    this.#sql = postgres(options.url ?? EMBEDDED_URL, driverOptions);
    Object.assign(this.#sql.options.parsers, options.types?.parsers);
    Object.assign(this.#sql.options.serializers, options.types?.serializers);
  }

  get isLost(): boolean {
    return this.#loss !== undefined;
  }

  begin = (): Promise<unknown[]> => this.run(this.#begin);

  /** Runs outside a transaction. Behind a pooler, it runs as one, for the timeout: three statements, one round trip. */
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

  /** After `DatabaseUnavailable`, the statement may have taken effect. */
  run(text: string, parameters: unknown[] = [], options: StatementOptions = {}): Promise<unknown[]> {
    if (this.#loss !== undefined) return Promise.reject(this.#loss);
    const { timeoutMs, setUp } = this.#options;
    if (setUp !== undefined && !this.#isSetUp) {
      this.#isSetUp = true;
      // Sent before the statement. If it fails, the connection is lost and the statement fails too.
      this.run(setUp).catch((error) => this.lose(error));
    }
    return new Promise((resolve, reject) => {
      const finish = (act: (value: never) => void) => (value: unknown) => {
        clearTimeout(timer);
        this.#underWay.delete(fail);
        act(value as never);
      };
      const fail = finish(reject);
      const late = () =>
        this.lose(new DatabaseUnavailable('CONNECTION_CLOSED', `No response within ${timeoutMs} ms.`));
      const timer = timeoutMs === undefined ? undefined : setTimeout(late, timeoutMs);
      this.#underWay.add(fail);
      const query = this.#sql.unsafe(text, parameters as never[], { prepare: options.isPrepared ?? false });
      (options.asArrays ? query.values() : query).then(finish(resolve), (error) => {
        if (endsConnection(error)) this.lose(error);
        fail(error);
      });
    });
  }

  lose(error: unknown = new DatabaseUnavailable('CONNECTION_CLOSED', 'The connection was lost.')): void {
    if (this.#loss !== undefined) return;
    this.#loss = error;
    for (const fail of this.#underWay) fail(error);
    this.#socket?.destroy();
    this.#sql.end({ timeout: 0 }).catch(() => {});
    this.#onLost(this);
  }

  async end(): Promise<void> {
    await this.#sql.end({ timeout: END_SECONDS });
    this.lose();
  }

  /** The driver calls this again if a host hangs up. The next call tries the next host. */
  #call({ host, path, port }: Target): Duplex {
    if (this.isLost || this.#calls === host.length) {
      const error = new DatabaseUnavailable('ECONNREFUSED', 'The database did not accept the connection.');
      this.lose(error);
      throw error;
    }
    const { connect: open } = this.#options;
    if (open !== undefined) {
      this.#calls = host.length;
      try {
        this.#socket = open();
        return this.#socket;
      } catch (error) {
        this.lose(error);
        throw error;
      }
    }
    const index = ((this.#options.firstHost ?? 0) + this.#calls++) % host.length;
    const where = { host: host[index] ?? 'localhost', port: port[index] ?? 5432 };
    this.#socket = path ? connect(path) : connect(where);
    return Object.assign(this.#socket, where);
  }
}
