import { Connection, type ConnectionOptions, DatabaseUnavailable } from './connection.ts';

type Waiting = { take: (connection: Connection) => void; giveUp: (error: unknown) => void };

/** Counts of connections, and of statements that wait for one. */
export type PoolState = { inUse: number; idle: number; unopened: number; waiting: number };

export class Pool {
  readonly #options: ConnectionOptions;
  readonly #size: number;
  readonly #all = new Set<Connection>();
  #free: Connection[] = [];
  #waiting: Waiting[] = [];
  #opened = 0;
  #isClosed = false;
  #answeredAt = Number.NEGATIVE_INFINITY;

  /** @param options - for each connection; `timeoutMs` also limits the wait for a free connection */
  constructor(size: number, options: ConnectionOptions) {
    this.#size = size;
    this.#options = options;
  }

  /** Throws DatabaseUnavailable if no connection becomes free in time. Then nothing was sent. */
  async use<T>(work: (connection: Connection) => Promise<T>): Promise<T> {
    const connection = await this.#take();
    try {
      const result = await work(connection);
      this.#answeredAt = performance.now();
      return result;
    } finally {
      this.#giveBack(connection);
    }
  }

  /** When work last succeeded, in milliseconds of `performance.now()`; initially negative infinity. */
  get answeredAt(): number {
    return this.#answeredAt;
  }

  get state(): PoolState {
    const idle = this.#free.length;
    const open = this.#all.size;
    return { inUse: open - idle, idle, unopened: this.#size - open, waiting: this.#waiting.length };
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    for (const { giveUp } of this.#waiting.splice(0)) giveUp(this.#closed());
    await Promise.all([...this.#all].map((connection) => connection.end()));
  }

  #take(): Connection | Promise<Connection> {
    if (this.#isClosed) throw this.#closed();
    return this.#free.pop() ?? (this.#all.size < this.#size ? this.#open() : this.#wait());
  }

  #wait(): Promise<Connection> {
    const { timeoutMs } = this.#options;
    return new Promise((resolve, reject) => {
      const late = () => {
        this.#waiting = this.#waiting.filter((one) => one !== waiting);
        reject(new DatabaseUnavailable('CONNECT_TIMEOUT', `No connection was free within ${timeoutMs} ms.`));
      };
      const timer = timeoutMs === undefined ? undefined : setTimeout(late, timeoutMs);
      const finish =
        <Value>(act: (value: Value) => void) =>
        (value: Value) => {
          clearTimeout(timer);
          act(value);
        };
      const waiting = { take: finish(resolve), giveUp: finish(reject) };
      this.#waiting.push(waiting);
    });
  }

  #open(): Connection {
    const connection = new Connection({ ...this.#options, firstHost: this.#opened++ }, (lost) => {
      // If the connection is in use, its slot becomes free when the connection is returned.
      if (!this.#free.includes(lost)) return;
      this.#free = this.#free.filter((one) => one !== lost);
      this.#all.delete(lost);
    });
    this.#all.add(connection);
    return connection;
  }

  #giveBack(connection: Connection): void {
    if (connection.isLost) this.#all.delete(connection);
    const next = this.#waiting.shift();
    if (next !== undefined) next.take(connection.isLost ? this.#open() : connection);
    else if (!connection.isLost) this.#free.push(connection);
  }

  #closed = () => new DatabaseUnavailable('CONNECT_TIMEOUT', 'The database is closed.');
}
