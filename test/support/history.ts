/** Records the outcome of every request as clients saw it, and compares it with the ledger. */
import { randomUUID } from 'node:crypto';
import postgres from 'postgres';
import { openDatabase } from '../../src/database/client.ts';
import { audit } from '../../src/store/ledger-audit.ts';
import type { Body } from './http.ts';

/** The outcome of a request for the client. `status` is missing if the connection closed without a response. */
export type Seen = {
  accountId: string;
  /** The ID in the response to `POST /chat`, which is also the ID of its charge. */
  id?: string;
  status?: number;
  code?: string;
  /** Whether a stream is complete; undefined for other responses. */
  isWhole?: boolean;
  sentAt: number;
  endedAt: number;
  headers: Headers | undefined;
};

/** The credential of a request. With idempotency keys, the ledger admits each request before its work starts. */
export type Caller = {
  accountId: string;
  key?: string;
  cookie?: string;
  sendsIdempotencyKeys?: boolean;
  /** A fixed idempotency key for retries, instead of a new one for each request. */
  idempotencyKey?: string;
};

/** Each caller twice, without and with idempotency keys. */
export const alternating = (callers: readonly Caller[]): Caller[] =>
  callers.flatMap((caller) => [caller, { ...caller, sendsIdempotencyKeys: true }]);

export type Verdict = {
  /** Violations of the contract; empty if there are none. */
  faults: string[];
  /** The number of delivered replies without a final charge. */
  lost: number;
  /** The number of counters above the quota. */
  overspent: number;
  delivered: number;
  refused: number;
  failed: number;
  /** The number of final charges, and of refunded ones. */
  final: number;
  refunded: number;
  /** The number of days with charges. */
  days: number;
};

const say = { message: 'Hello', store: false };

type Expected = {
  /** The quota for each account, day, and meter, or a function that returns it for an account. */
  ceiling?: number | ((accountId: string) => number | undefined);
  /** Whether requests were retried with the same idempotency key. */
  hasRetries?: boolean;
};

/** Whether a reply is the first for its charge: neither a replay, nor an interrupted stream that a retry completes. */
const isFirst = ({ headers, isWhole }: Seen) => isWhole !== false && !headers?.has('idempotency-replayed');

/** The outcomes of all requests of a test. */
export class History {
  readonly seen: Seen[] = [];

  /** Sends `POST /chat`, and records its outcome. After `timeoutMs`, it counts as unanswered. Never throws. */
  async chat(origin: string, caller: Caller, body: object = say, timeoutMs = 30_000): Promise<Seen> {
    const sentAt = performance.now();
    const { accountId, cookie, key, sendsIdempotencyKeys = false } = caller;
    const { idempotencyKey = sendsIdempotencyKeys ? randomUUID() : undefined } = caller;
    const seen: Seen = { accountId, sentAt, endedAt: 0, headers: undefined };
    try {
      const response = await fetch(`${origin}/api/v1/chat`, {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          ...(key !== undefined && { authorization: `Bearer ${key}` }),
          ...(cookie !== undefined && { cookie }),
          ...(idempotencyKey !== undefined && { 'idempotency-key': idempotencyKey }),
        },
        body: JSON.stringify(body),
        signal: AbortSignal.timeout(timeoutMs),
      });
      seen.headers = response.headers;
      if (response.headers.get('content-type')?.startsWith('text/event-stream')) {
        await this.#follow(response, seen);
        return seen;
      }
      const answer = (await response.json()) as Body;
      seen.status = response.status;
      if (response.status === 200) seen.id = answer.id;
      else seen.code = answer.error.code;
    } catch {
      // A response that is cut off does not count as an answer, unless it is a stream.
    } finally {
      seen.endedAt = performance.now();
      this.seen.push(seen);
    }
    return seen;
  }

  /** Reads a stream, which counts as delivered from its first byte on. */
  async #follow(response: Response, seen: Seen): Promise<void> {
    // Stays false if the connection is lost, which throws.
    seen.isWhole = false;
    let text = '';
    for await (const chunk of response.body ?? []) {
      text += Buffer.from(chunk).toString('latin1');
      seen.status = 200;
      seen.id ??= /^event: start\ndata: .*?"id":"([^"]+)"/.exec(text)?.[1] ?? '';
      if (seen.id === '') delete seen.id;
    }
    seen.isWhole = text.includes('event: done');
  }

  /** The requests with a 200. */
  delivered = () => this.seen.filter(({ status }) => status === 200);

  /** The number of requests by error code, or by status if there is no code. */
  summary(): Record<string, number> {
    const counts: Record<string, number> = {};
    for (const { code, status } of this.seen) {
      const what = code ?? String(status ?? 'no answer');
      counts[what] = (counts[what] ?? 0) + 1;
    }
    return counts;
  }

  /**
   * Compares the outcomes with the ledger. All requests must have ended, and the ledger must have swept open charges.
   */
  async check(databaseUrl: string, { ceiling, hasRetries = false }: Expected = {}): Promise<Verdict> {
    const faults: string[] = [];
    const sql = postgres(databaseUrl, { max: 1, onnotice: () => {} });
    const accounts = [...new Set(this.seen.map(({ accountId }) => accountId))];
    const charges = await sql<
      { account_id: string; day: string; id: string; state: string; units: number }[]
    >`
      select account_id, day::text, id, state, units from requests where account_id = any(${accounts})`;
    const counters = await sql<{ account_id: string; day: string; meter: string; used: string }[]>`
      select account_id, day::text, meter, used::text from usage_counters
      where meter <> 'tokens' and account_id = any(${accounts})`;
    await sql.end();

    const byId = new Map<string, (typeof charges)[number][]>();
    for (const charge of charges) byId.set(charge.id, [...(byId.get(charge.id) ?? []), charge]);
    for (const [id, rows] of byId) {
      if (rows.length > 1) faults.push(`${id} was charged ${rows.length} times`);
      if (rows.some(({ state }) => state === 'admitted')) faults.push(`${id} is still open`);
    }
    const delivered = this.delivered();
    let lost = 0;
    for (const { accountId, id } of delivered) {
      const [charge] = byId.get(String(id)) ?? [];
      if (charge?.state !== 'final') lost += 1;
      if (charge?.state !== 'final') faults.push(`${id} was delivered, but its charge is ${charge?.state}`);
      else if (charge.account_id !== accountId) faults.push(`${id} was charged to another account`);
    }
    const first = hasRetries ? delivered.filter(isFirst) : delivered;
    if (new Set(first.map(({ id }) => id)).size < first.length) faults.push('An ID was delivered twice');
    let overspent = 0;
    for (const { account_id, day, meter, used } of counters) {
      const most = typeof ceiling === 'function' ? ceiling(account_id) : ceiling;
      if (most !== undefined && Number(used) > most) {
        overspent += 1;
        faults.push(`${account_id} used ${used} ${meter} on ${day}, of ${most}`);
      }
      if (Number(used) < 0) faults.push(`${account_id} used ${used} ${meter} on ${day}`);
    }
    const database = await openDatabase({ url: databaseUrl, connections: 1 });
    const { differences } = await audit(database.db);
    await database.close();
    for (const difference of differences)
      faults.push(`A counter differs from its charges: ${JSON.stringify(difference)}`);
    return {
      faults,
      lost,
      overspent,
      delivered: delivered.length,
      refused: this.seen.filter(({ status }) => status === 429).length,
      failed: this.seen.filter(({ status }) => status !== 200 && status !== 429).length,
      final: charges.filter(({ state }) => state === 'final').length,
      refunded: charges.filter(({ state }) => state === 'refunded').length,
      days: new Set(charges.map(({ day }) => day)).size,
    };
  }
}

/** Sends chats from several workers until `until` returns true, rotating through callers and origins. */
export async function load(
  history: History,
  { callers, concurrency, origins, streams = false, until }: LoadOptions,
): Promise<void> {
  let sent = 0;
  const worker = async () => {
    while (!until()) {
      sent += 1;
      const seen = await history.chat(
        origins[sent % origins.length] as string,
        callers[(sent * 7) % callers.length] as Caller,
        { message: 'Hello', store: false, ...(streams && sent % 2 === 0 && { stream: true }) },
      );
      // Wait, because a replica that is down rejects requests immediately.
      if (seen.status === undefined || seen.status === 503) await new Promise((go) => setTimeout(go, 20));
    }
  };
  await Promise.all(Array.from({ length: concurrency }, worker));
}

export type LoadOptions = {
  origins: string[];
  callers: Caller[];
  concurrency: number;
  /** Whether every other request is a stream. */
  streams?: boolean;
  /** Returns true when the load should stop. */
  until: () => boolean;
};
