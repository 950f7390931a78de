/** The load during a fault: chats, streams, retries with idempotency keys, and the creation and revocation of keys. */
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import postgres from 'postgres';
import { type Caller, History, type Seen } from '../support/history.ts';
import type { Client } from '../support/http.ts';
import { CEILING } from './cluster.ts';
import { apiOrigin, primaryUrl } from './edge.ts';
import { KeyHistory } from './keys.ts';

const WORKERS = 10;
/** The pause between two requests of a worker. */
const PAUSE_MS = 100;
/** The timeout of a request. */
const TIMEOUT_MS = 15_000;
/** Longer than a charge can stay open after its process has died. */
const RETRIED_FOR_MS = 60_000;

/** Whether a request failed. A replay of an interrupted stream does not count as another failure. */
const hasFailed = ({ headers, isWhole, status }: Seen) =>
  status === undefined || status >= 500 || (isWhole === false && !headers?.has('idempotency-replayed'));

/** Workers that send requests until they are stopped. */
export class Load {
  readonly history = new History();
  readonly keys: KeyHistory;
  /** Violations other than those that `history` and `keys` find. */
  readonly faults: string[] = [];
  /** When each failed request was sent, and when each successful one ended, by `performance.now()`. */
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

  /** Signs up the accounts: two that will reach their quota, and two without one. Callers use keys and cookies. */
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

  /** Starts the workers. */
  start(): void {
    const workers = Array.from({ length: WORKERS }, (_, n) => this.#work(n));
    this.#running = Promise.all([...workers, this.keys.run(() => this.#isOver)]);
  }

  /** Stops the workers. Resolves once every request has ended. */
  async stop(): Promise<void> {
    this.#isOver = true;
    await this.#running;
  }

  /** The chat quota of an account, or undefined if it has none. */
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
    const seen = await this.history.chat(apiOrigin, caller, body, TIMEOUT_MS);
    if (hasFailed(seen)) this.failedAt.push(seen.sentAt);
    else this.servedAt.push(seen.endedAt);
    return seen;
  }

  /** Retries a request with the same idempotency key until it succeeds twice. All attempts must be one charge. */
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
