/**
 * Windows that all replicas share in Redis. Where Redis is lost, refuses or hangs, each process counts by itself
 * until Redis is back; requests wait for it once, and not for long. Contract section 5.
 */
import type { FastifyBaseLogger } from 'fastify';
import { Redis } from 'ioredis';
import { MemoryWindows, type WindowCount, type Windows } from './memory-windows.ts';

const PREFIX = 'parley:limit:';
/** How long a request waits for Redis, at most. */
const ANSWER_MS = 100;
/** Pause before Redis is tried again; requests do not wait for that. */
const RETRY_MS = 1000;
/** A connection that answers nothing for so long is replaced. */
const SILENCE_MS = 5000;
/** How long a start waits for Redis, so that the first requests are counted there. */
const CONNECT_MS = 1000;

const takeScript = `
  local current = redis.call('INCR', KEYS[1])
  local ttl = redis.call('PTTL', KEYS[1])
  if ttl < 0 then
    ttl = tonumber(ARGV[1])
    redis.call('PEXPIRE', KEYS[1], ttl)
  end
  return {current, ttl}`;

const takeBackScript = `
  if tonumber(redis.call('GET', KEYS[1]) or 0) > 0 then redis.call('DECR', KEYS[1]) end
  return {0, 0}`;

const readScript = `
  local current = tonumber(redis.call('GET', KEYS[1]) or 0)
  return {current, math.max(redis.call('PTTL', KEYS[1]), 0)}`;

type Counted = [current: number, ttl: number];

/** What `defineCommand` adds to the client. */
type Commands = {
  windowTake(key: string, windowMs: number): Promise<Counted>;
  windowTakeBack(key: string): Promise<Counted>;
  windowRead(key: string): Promise<Counted>;
};

const delay = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms).unref());

/** Rejects where no answer came in time. What has arrived while this process was busy is looked at first. */
async function inTime<T>(answer: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    const giveUp = () => reject(new Error(`Redis did not answer within ${ANSWER_MS} ms.`));
    timer = setTimeout(() => setImmediate(() => setImmediate(giveUp)), ANSWER_MS);
  });
  try {
    return await Promise.race([answer, late]);
  } finally {
    clearTimeout(timer);
  }
}

export class RedisWindows implements Windows {
  readonly #redis: Redis & Commands;
  readonly #own = new MemoryWindows();
  readonly #log: FastifyBaseLogger;
  #isUsable = false;
  #isClosed = false;
  #probe: NodeJS.Timeout | undefined;

  /** Does not connect yet. */
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
    redis.defineCommand('windowTake', { numberOfKeys: 1, lua: takeScript });
    redis.defineCommand('windowTakeBack', { numberOfKeys: 1, lua: takeBackScript });
    redis.defineCommand('windowRead', { numberOfKeys: 1, lua: readScript });
    redis.on('ready', () => this.#regain());
    redis.on('close', () => this.#lose(new Error('The connection to Redis was closed.')));
    // Says why there is no connection; without a listener it would end the process.
    redis.on('error', (error) => this.#log.debug({ err: error }, 'Redis'));
    this.#redis = redis as Redis & Commands;
  }

  /** Connects, and goes on trying; returns once connected, or soon. */
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

  async take(key: string, windowMs: number): Promise<WindowCount> {
    // Counted here, too, so that losing Redis does not begin every window anew.
    const own = await this.#own.take(key, windowMs);
    return (await this.#ask((redis) => redis.windowTake(PREFIX + key, windowMs))) ?? own;
  }

  async takeBack(key: string): Promise<void> {
    await this.#own.takeBack(key);
    await this.#ask((redis) => redis.windowTakeBack(PREFIX + key));
  }

  async read(key: string): Promise<WindowCount> {
    return (await this.#ask((redis) => redis.windowRead(PREFIX + key))) ?? this.#own.read(key);
  }

  /** Redis' answer, or undefined where it gives none. */
  async #ask(command: (redis: Commands) => Promise<Counted>): Promise<WindowCount | undefined> {
    if (!this.#isUsable) return undefined;
    try {
      const [current, ttl] = await inTime(command(this.#redis));
      return { current, ttl };
    } catch (error) {
      this.#lose(error as Error);
      return undefined;
    }
  }

  #warn(error: Error): void {
    this.#log.warn(
      { err: error },
      'Redis does not answer: until it does, each process counts the minute limits by itself.',
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
    this.#log.info('Redis answers: the minute limits are shared.');
  }

  /** Tries what requests need, not a mere ping: a read-only or full Redis answers pings. */
  #probeLater(): void {
    clearTimeout(this.#probe);
    this.#probe = setTimeout(() => {
      inTime(this.#redis.windowTake(`${PREFIX}probe`, RETRY_MS)).then(
        () => this.#regain(),
        () => this.#isClosed || this.#probeLater(),
      );
    }, RETRY_MS).unref();
  }
}
