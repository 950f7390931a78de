/**
 * The Redis connection for shared limits. If Redis fails or hangs, commands return undefined. Callers then count alone
 * until Redis recovers. Contract section 5.
 */
import type { FastifyBaseLogger } from 'fastify';
import { Redis } from 'ioredis';

/** The longest time that a request waits for Redis. */
const ANSWER_MS = 100;
const RETRY_MS = 1000;
/** A connection silent for this long is replaced. */
const SILENCE_MS = 5000;
/** How long startup waits for Redis, so that the first requests are counted there. */
const CONNECT_MS = 1000;
const PROBE_KEY = 'parley:limit:probe';

type Argument = string | number;
type Command<T> = (...args: Argument[]) => Promise<T>;

const delay = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms).unref());

/** Rejects on timeout, but first processes responses that arrived while this process was busy. */
async function inTime<T>(answer: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    const giveUp = () => reject(new Error(`Redis did not respond within ${ANSWER_MS} ms.`));
    timer = setTimeout(() => setImmediate(() => setImmediate(giveUp)), ANSWER_MS);
  });
  try {
    return await Promise.race([answer, late]);
  } finally {
    clearTimeout(timer);
  }
}

export class RedisLink {
  readonly #redis: Redis;
  readonly #log: FastifyBaseLogger;
  readonly #onRegain: (() => void)[] = [];
  #isUsable = false;
  #isClosed = false;
  #probe: NodeJS.Timeout | undefined;

  constructor(url: string, log: FastifyBaseLogger) {
    this.#log = log;
    const redis = new Redis(url, {
      lazyConnect: true,
      enableOfflineQueue: false,
      autoResendUnfulfilledCommands: false,
      maxRetriesPerRequest: 0,
      connectTimeout: CONNECT_MS,
      socketTimeout: SILENCE_MS,
      retryStrategy: (attempt) => Math.min(attempt * 100, RETRY_MS),
    });
    redis.on('ready', () => this.#regain());
    redis.on('close', () => this.#lose(new Error('The connection to Redis was closed.')));
    // Logs the cause of a missing connection. Without a listener, the error would crash the process.
    redis.on('error', (error) => this.#log.debug({ err: error }, 'Redis'));
    this.#redis = redis;
  }

  /** Connects and keeps retrying. Resolves once connected, or after `CONNECT_MS`. */
  async start(): Promise<void> {
    const connected = this.#redis.connect().catch((error: Error) => {
      this.#warn(error);
    });
    await Promise.race([connected, delay(CONNECT_MS)]);
  }

  stop(): void {
    this.#isClosed = true;
    clearTimeout(this.#probe);
    this.#redis.disconnect();
  }

  /**
   * Defines a command from an atomic script whose first `keys` arguments are keys. The command resolves to undefined if
   * Redis is unavailable.
   */
  script<T>(name: string, keys: number, lua: string): Command<T | undefined> {
    this.#redis.defineCommand(name, { numberOfKeys: keys, lua });
    const run = (this.#redis as unknown as Record<string, Command<T>>)[name];
    if (run === undefined) throw new Error(`Redis has no command ${name}.`);
    return async (...args) => {
      if (!this.#isUsable) return undefined;
      try {
        return await inTime(run.apply(this.#redis, args));
      } catch (error) {
        this.#lose(error as Error);
        return undefined;
      }
    };
  }

  /** Registers a callback that runs whenever Redis becomes available, including the first time. */
  onRegain(callback: () => void): void {
    this.#onRegain.push(callback);
  }

  #warn(error: Error): void {
    this.#log.warn(
      { err: error },
      'Redis is not responding. Each process counts its limits separately until it does.',
    );
  }

  #lose(error: Error): void {
    if (!this.#isUsable || this.#isClosed) return;
    this.#isUsable = false;
    this.#warn(error);
    this.#probeLater();
  }

  #regain(): void {
    if (this.#isUsable || this.#isClosed) return;
    clearTimeout(this.#probe);
    this.#isUsable = true;
    this.#log.info('Redis is responding. Processes share their limits.');
    for (const callback of this.#onRegain) callback();
  }

  /** Tests a write instead of a ping, because a read-only or full Redis still responds to pings. */
  #probeLater(): void {
    clearTimeout(this.#probe);
    this.#probe = setTimeout(() => {
      inTime(this.#redis.set(PROBE_KEY, '1', 'PX', RETRY_MS)).then(
        () => this.#regain(),
        () => this.#isClosed || this.#probeLater(),
      );
    }, RETRY_MS).unref();
  }
}
