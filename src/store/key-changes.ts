/**
 * Listens for every change that affects keys, and knows whether notifications arrive. Contract section 3, argued in
 * docs/decisions/0011-the-key-cache.md.
 *
 * A dead channel is silent, so this process notifies itself. Notifications arrive in commit order. An echo therefore
 * proves that all changes committed before it have arrived. Another connection sends the echo: behind a transaction
 * pooler, a connection receives only its own notifications.
 */
import { randomBytes } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import postgres from 'postgres';
import type { Database } from '../database/client.ts';
import { idleTimeoutSockets } from '../database/idle-timeout-socket.ts';

/** The same name as in `drizzle/0008_key_changes.sql`. The payload is the account's ID. */
const CHANNEL = 'parley_keys';

const ECHO_MS = 250;
/** All changes older than this have arrived; otherwise the cache is not used. */
const TRUST_MS = 750;
/** Replaces a connection that received nothing for this long, not even an echo. */
const SILENCE_MS = 2000;

const RETRY_MS = 100;
const RETRY_MS_AT_MOST = 2000;
/** Used if no echo has ever arrived: this is probably a transaction pooler, which keeps every LISTEN. */
const RETRY_MS_AT_MOST_UNHEARD = 30_000;

export type ChangeListener = {
  onChange(accountId: string): void;
  onGap(): void;
};

type Log = { info(message: string): void; warn(details: object, message: string): void };

type Moment = { steady: number; wall: number };

const moment = (): Moment => ({ steady: performance.now(), wall: Date.now() });

/** Uses two clocks: one stops while the machine sleeps, the other can be adjusted. */
function msSince({ steady, wall }: Moment): number {
  return Math.max(performance.now() - steady, Date.now() - wall);
}

export class KeyChanges {
  readonly #database: Database;
  readonly #directUrl: string | undefined;
  readonly #log: Log;
  readonly #stopped = new AbortController();
  readonly #echoChannel = `parley_echo_${randomBytes(8).toString('hex')}`;
  #sent: { number: number; at: Moment } = { number: 0, at: moment() };
  #latest: { sentAt: Moment; databaseMs: number } | undefined;
  #timer: NodeJS.Timeout | undefined;
  #running: Promise<void> | undefined;
  #isSending = false;
  #isEmbeddedHeard = false;
  #wasWarned = false;

  constructor(database: Database, directUrl: string | undefined, log: Log) {
    this.#database = database;
    this.#directUrl = directUrl;
    this.#log = log;
  }

  /**
   * The database's time in milliseconds since 1970, if every change over 750 ms old has arrived; otherwise undefined.
   * It may be ahead by the time that the last echo took to send, but never behind.
   */
  now(): number | undefined {
    if (this.#isEmbeddedHeard) return Date.now();
    if (this.#latest === undefined) return undefined;
    const { databaseMs, sentAt } = this.#latest;
    if (!(msSince(sentAt) < TRUST_MS)) return undefined;
    return databaseMs + performance.now() - sentAt.steady;
  }

  /** Starts listening. On Postgres, this runs in the background, and `now` shows whether it works. */
  async start(listener: ChangeListener): Promise<void> {
    const { listen } = this.#database;
    if (listen !== undefined) {
      // In process, a notification arrives together with the result of its COMMIT.
      await listen(CHANNEL, {
        onPayload: (accountId) => listener.onChange(accountId),
        onGap: (error) => {
          listener.onGap();
          if (error !== undefined)
            this.#log.warn(
              { err: error },
              'The embedded database crashed. It restarts with the next statement.',
            );
        },
      });
      this.#isEmbeddedHeard = true;
      return;
    }
    this.#running = this.#keepListening(listener);
    this.#timer = setInterval(() => void this.#sendEcho(), ECHO_MS).unref();
  }

  async stop(): Promise<void> {
    this.#isEmbeddedHeard = false;
    this.#latest = undefined;
    clearInterval(this.#timer);
    this.#stopped.abort();
    await this.#running;
  }

  async #sendEcho(): Promise<void> {
    if (this.#isSending) return;
    this.#isSending = true;
    const number = this.#sent.number + 1;
    this.#sent = { number, at: moment() };
    try {
      await this.#database.run(
        "select pg_notify($1, $2::text || ' ' || extract(epoch from clock_timestamp())::float8 * 1000)",
        [this.#echoChannel, String(number)],
      );
    } catch {
    } finally {
      this.#isSending = false;
    }
  }

  #onEcho(payload: string): void {
    const [number, databaseMs] = payload.split(' ').map(Number);
    if (number !== this.#sent.number || databaseMs === undefined) return;
    this.#latest = { sentAt: this.#sent.at, databaseMs };
    if (this.#wasWarned) this.#log.info('Receiving database notifications: keys are cached.');
    this.#wasWarned = false;
  }

  async #keepListening(listener: ChangeListener): Promise<void> {
    const { signal } = this.#stopped;
    for (let failures = 0; !signal.aborted; failures += 1) {
      const before = this.#latest;
      const error = await this.#listenUntilLost(listener);
      if (signal.aborted) return;
      if (this.#latest !== before) failures = 0;
      if (failures === 1) this.#warn(error);
      const most = this.#latest === undefined ? RETRY_MS_AT_MOST_UNHEARD : RETRY_MS_AT_MOST;
      await delay(Math.min(most, RETRY_MS * 2 ** failures), undefined, { signal, ref: false }).catch(
        () => {},
      );
    }
  }

  #warn(error: unknown): void {
    this.#wasWarned = true;
    this.#log.warn(
      { err: error },
      'Not receiving database notifications: keys are verified without the cache. If DATABASE_URL points to a transaction pooler, set DATABASE_DIRECT_URL to the database itself.',
    );
  }

  /** @returns the error that ended the connection, if known */
  async #listenUntilLost(listener: ChangeListener): Promise<unknown> {
    let isListening = false;
    let lose = () => {};
    const lost = new Promise<void>((resolve) => {
      lose = resolve;
    });
    const open = idleTimeoutSockets(SILENCE_MS);
    const client = postgres(this.#directUrl ?? '', {
      max: 1,
      connect_timeout: 5,
      fetch_types: false,
      idle_timeout: 0,
      max_lifetime: null,
      onnotice: () => {},
      connection: { application_name: 'parley listener' },
      // Missing from the types. A closed socket ends the client, because the driver would reconnect without listening.
      ...{
        socket: (target: Parameters<typeof open>[0]) => open(target).once('close', lose),
        onnotify: (channel: string, payload: string) => {
          if (!isListening) return;
          if (channel === CHANNEL) listener.onChange(payload);
          else this.#onEcho(payload);
        },
      },
    });
    this.#stopped.signal.addEventListener('abort', lose, { once: true });
    try {
      // Ignore notifications that arrive with the result, because the gap is not reported yet.
      await Promise.race([
        client
          .unsafe(`listen ${CHANNEL}; listen ${this.#echoChannel}`)
          .simple()
          .then(() => {
            isListening = true;
            listener.onGap();
          }),
        lost,
      ]);
      await lost;
      return undefined;
    } catch (error) {
      return error;
    } finally {
      isListening = false;
      this.#stopped.signal.removeEventListener('abort', lose);
      await client.end({ timeout: 0 }).catch(() => {});
    }
  }
}
