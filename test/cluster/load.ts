/** What clients do while a fault is on: chats, streams, retries with idempotency keys; keys that come and go. */
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import postgres from 'postgres';
import { type Caller, History, type Seen } from '../support/history.ts';
import type { Client } from '../support/http.ts';
import { CEILING } from './cluster.ts';
import { apiOrigin, primaryUrl } from './edge.ts';
import { KeyHistory } from './keys.ts';

const WORKERS = 10;
/** Between two requests of a worker. */
const PAUSE_MS = 100;
/** A request that is not answered within this has failed. */
const PATIENCE_MS = 15_000;
/** Longer than a charge can stay open whose process has died. */
const RETRIED_FOR_MS = 60_000;

/** A stream that the upstream broke off has failed once; a retry is answered with the same. */
const hasFailed = ({ headers, isWhole, status }: Seen) =>
  status === undefined || status >= 500 || (isWhole === false && !headers?.has('idempotency-replayed'));

export class Load {
  readonly history = new History();
  readonly keys: KeyHistory;
  /** What else must not be. */
  readonly faults: string[] = [];
  /** When requests that failed had been sent, and when those that were served had ended; by `performance.now()`. */
  readonly failedAt: number[] = [];
  readonly servedAt: number[] = [];
  readonly #limited = new Set<string>();
  readonly #callers: Caller[];
  #isOver = false;
  #running: Promise<unknown> | undefined;

  private constructor(callers: Caller[], limited: string[], keys: KeyHistory) {
    this.#callers = callers;
    this.#limited = new Set(limited);
    this.keys = keys;
  }

  /** Signs accounts up: two that will reach their ceiling, and two without one, by key and by cookie. */
  static async prepare(client: Client): Promise<Load> {
    const owners = [
      await client.signUp(),
      await client.signUp(),
      await client.signUp(),
      await client.signUp(),
    ];
    const [one, two, free, other] = owners as [(typeof owners)[0], (typeof owners)[0], ...typeof owners];
    const unlimited = [free, other].map((owner) => owner?.accountId as string);
    const sql = postgres(primaryUrl, { max: 1, onnotice: () => {} });
    await sql`update accounts set plan = 'large' where id = any(${unlimited})`;
    await sql.end();
    const callers: Caller[] = [];
    for (const owner of [free, other, free, other, one, two]) {
      if (owner === undefined) continue;
      const { accountId, cookie } = owner;
      if (callers.length < 3) callers.push({ accountId, cookie });
      else callers.push({ accountId, key: (await client.createKey(owner)).key });
    }
    return new Load(callers, [one.accountId, two.accountId], await KeyHistory.prepare(client));
  }

  start(): void {
    const workers = Array.from({ length: WORKERS }, (_, n) => this.#work(n));
    this.#running = Promise.all([...workers, this.keys.run(() => this.#isOver)]);
  }

  /** Resolves once every request has ended. */
  async stop(): Promise<void> {
    this.#isOver = true;
    await this.#running;
  }

  ceiling = (accountId: string): number | undefined => (this.#limited.has(accountId) ? CEILING : undefined);

  async #work(worker: number): Promise<void> {
    for (let n = worker; !this.#isOver; n += WORKERS) {
      const caller = this.#callers[(n * 7) % this.#callers.length] as Caller;
      const body = { message: 'Hello', store: false, ...(n % 2 === 0 && { stream: true }) };
      if (n % 3 === 0) await this.#untilAnswered(caller, body);
      else await this.#send(caller, body);
      await sleep(PAUSE_MS);
    }
  }

  async #send(caller: Caller, body: object): Promise<Seen> {
    const seen = await this.history.chat(apiOrigin, caller, body, PATIENCE_MS);
    if (hasFailed(seen)) this.failedAt.push(seen.sentAt);
    else this.servedAt.push(seen.endedAt);
    return seen;
  }

  /** Sends a request again, under the same key, until it is answered; and once more. It must be one charge. */
  async #untilAnswered(caller: Caller, body: object): Promise<void> {
    const retrying = { ...caller, idempotencyKey: randomUUID() };
    const ids = new Set<string>();
    let answers = 0;
    for (const end = performance.now() + RETRIED_FOR_MS; performance.now() < end && answers < 2; ) {
      const seen = await this.#send(retrying, body);
      if (seen.id !== undefined) ids.add(seen.id);
      if (seen.headers?.get('x-should-retry') === 'false') break;
      if (hasFailed(seen) || seen.status === 409) await sleep(500);
      else if (seen.status === 200) answers += 1;
      else break;
    }
    if (ids.size > 1) this.faults.push(`One idempotency key was charged as ${[...ids].join(' and ')}`);
  }
}
