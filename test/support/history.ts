/** What clients saw of every request, compared with what the ledger says. */
import { randomUUID } from 'node:crypto';
import postgres from 'postgres';
import { openDatabase } from '../../src/database/client.ts';
import { audit } from '../../src/store/ledger-audit.ts';
import type { Body } from './http.ts';

/** What a client knows of a request. `status` is missing where the connection ended without an answer. */
export type Seen = {
  accountId: string;
  /** The id in the reply to POST /chat: also the id of its charge. */
  id?: string;
  status?: number;
  code?: string;
  /** Whether a stream came to its end. */
  isWhole?: boolean;
  sentAt: number;
  endedAt: number;
  headers: Headers | undefined;
};

/** Who sends a request: a key, or the web. With idempotency keys, the ledger admits each request before its work. */
export type Caller = {
  accountId: string;
  key?: string;
  cookie?: string;
  sendsIdempotencyKeys?: boolean;
  /** In place of a new one for each request, for retries. */
  idempotencyKey?: string;
};

/** The same callers, of which every other one sends idempotency keys. */
export const alternating = (callers: readonly Caller[]): Caller[] =>
  callers.flatMap((caller) => [caller, { ...caller, sendsIdempotencyKeys: true }]);

export type Verdict = {
  /** What must not be; empty is as it should be. */
  faults: string[];
  /** Of those: answers without a charge of their own, and counters past the ceiling. */
  lost: number;
  overspent: number;
  delivered: number;
  refused: number;
  failed: number;
  /** Charges that are final, and those that were given back. */
  final: number;
  refunded: number;
  /** On how many days. */
  days: number;
};

const say = { message: 'Hello', store: false };

type Expected = {
  /** Of each account, day and meter; or what says it of an account. */
  ceiling?: number | ((accountId: string) => number | undefined);
  /** Whether requests were sent again with the same idempotency key. */
  hasRetries?: boolean;
};

/** A retry is answered with what was delivered before, and says so; or it completes a stream that broke off. */
const isFirst = ({ headers, isWhole }: Seen) => isWhole !== false && !headers?.has('idempotency-replayed');

export class History {
  readonly seen: Seen[] = [];

  /** Sends POST /chat and records how it ended, which is without an answer after `timeoutMs`. Never throws. */
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
      // Whatever came before the connection ended is not an answer, unless it was a stream.
    } finally {
      seen.endedAt = performance.now();
      this.seen.push(seen);
    }
    return seen;
  }

  /** A stream counts as delivered from its first byte, whatever becomes of it. */
  async #follow(response: Response, seen: Seen): Promise<void> {
    // Stays so if the connection breaks off, which throws.
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

  delivered = () => this.seen.filter(({ status }) => status === 200);

  /** Codes and statuses, with how often each was seen. */
  summary(): Record<string, number> {
    const counts: Record<string, number> = {};
    for (const { code, status } of this.seen) {
      const what = code ?? String(status ?? 'no answer');
      counts[what] = (counts[what] ?? 0) + 1;
    }
    return counts;
  }

  /**
   * Compares with the ledger, of the accounts that sent something. Everything must have ended, and been swept.
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
      if (rows.some(({ state }) => state === 'admitted')) faults.push(`${id} is open`);
    }
    const delivered = this.delivered();
    let lost = 0;
    for (const { accountId, id } of delivered) {
      const [charge] = byId.get(String(id)) ?? [];
      if (charge?.state !== 'final') lost += 1;
      if (charge?.state !== 'final') faults.push(`${id} was delivered, its charge is ${charge?.state}`);
      else if (charge.account_id !== accountId) faults.push(`${id} was charged to another account`);
    }
    const first = hasRetries ? delivered.filter(isFirst) : delivered;
    if (new Set(first.map(({ id }) => id)).size < first.length) faults.push('An id was delivered twice');
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
      faults.push(`The counter is not what was charged: ${JSON.stringify(difference)}`);
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

/** Sends as long as it is told to, so many at a time, from callers and to origins in turn. */
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
      // A replica that is away refuses at once.
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
  until: () => boolean;
};
