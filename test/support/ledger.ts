/** The ledger without the service, on a Postgres behind a proxy that can inject faults. */
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { sql } from 'drizzle-orm';
import type { Test } from 'tap';
import { v7 as uuidv7 } from 'uuid';
import { type Database, type Db, openDatabase, rowsOf } from '../../src/database/client.ts';
import type { PlanCatalog } from '../../src/domain/plans.ts';
import { Ledger } from '../../src/ledger/ledger.ts';
import type { Admission, Charge } from '../../src/ledger/types.ts';
import type { AdmissionRules, ChargeRow } from '../../src/store/ledger.ts';
import type { OutageLog } from '../../src/telemetry/outage-log.ts';
import { freshDatabase } from './service.ts';
import { startTcpProxy } from './tcp-proxy.ts';

const limits = { chat: 10, images: null, search: null, embeddings: null };
const plan = {
  id: 'small',
  name: 'Small',
  currency: 'USD',
  monthly_price_cents: 0,
  yearly_price_cents: 0,
  limits,
  requests_per_minute: 1000,
};
const plans: PlanCatalog = { plans: [plan], standard: plan, find: () => plan, of: () => plan };

/** A log that discards everything. */
export const silentLog: OutageLog = { error: () => {}, info: () => {} };

/** The result of a successful request, and an error, for settling charges. */
export const outcome = { model: 'm', inputTokens: 3, outputTokens: 4 };
export const failure = { code: 'upstreamError', statusCode: 502 };

/** Whether another connection waits for a lock of the transaction. Locks of other databases do not count. */
export const isWaitedFor = async (transaction: Db): Promise<boolean> =>
  (
    await rowsOf(
      transaction,
      sql`select from pg_locks where not granted and pg_backend_pid() = any(pg_blocking_pids(pid))`,
    )
  ).length > 0;

/** The rules that the ledger's statements take, with a quota of 10 chats. `holder` is the ID of a process. */
export const rules = (holder: string): AdmissionRules => ({
  ceilings: { small: limits },
  standard: 'small',
  holder,
});

/**
 * Creates a database with an account. `database` connects to it through `proxy`, and `db` connects directly.
 *
 * @returns the connections, a charge of one image for the account, and functions that read the account's ledger
 */
export async function start(t: Test) {
  const { drop, env } = await freshDatabase('postgres');
  const url = new URL(String(env.DATABASE_URL));
  const direct = await openDatabase({ url: url.href });
  const proxy = await startTcpProxy(Number(url.port));
  url.port = String(proxy.port);
  const database = await openDatabase({ url: url.href, timeoutMs: 2000 });
  t.teardown(async () => {
    await database.close();
    await direct.close();
    await proxy.close();
    await drop();
  });
  const { db } = direct;
  const newAccount = async () => {
    const id = uuidv7();
    await db.execute(
      sql`insert into accounts values (${id}, ${id}, ${id}, 'x', 'small', 'monthly', now(), now(), null)`,
    );
    return id;
  };
  const account = await newAccount();
  const charge = { accountId: account, keyId: null, endpoint: 'POST /x', meter: 'images', units: 1 } as const;
  const row = (accountId = account): ChargeRow => ({
    id: uuidv7(),
    account_id: accountId,
    key_id: null,
    endpoint: 'POST /x',
    meter: 'images',
    units: 1,
  });
  const states = async (accountId = account) =>
    (
      await rowsOf<{ state: string }>(db, sql`select state from requests where account_id = ${accountId}`)
    ).map(({ state }) => state);
  const used = () =>
    rowsOf<{ day: string; used: number }>(
      db,
      sql`select day::text, used::int from usage_counters where account_id = ${account} and used <> 0`,
    );
  return { account, charge, database, db, direct, newAccount, proxy, row, states, used };
}

/** Starts a ledger as a process does. It stops when the test ends. */
export async function startLedger(t: Test, database: Database, log = silentLog): Promise<Ledger> {
  const ledger = newLedger(database, log);
  await ledger.start();
  t.teardown(() => ledger.stop());
  return ledger;
}

/** Creates a ledger without timers: it renews its lease only when the test calls for it. */
export const newLedger = (database: Database, log = silentLog): Ledger => new Ledger(database, plans, log);

/**
 * Admits a charge in the ledger, with an idempotency key: far from a quota, the ledger records other charges only after
 * their work.
 */
export async function admitInLedger(ledger: Ledger, charge: Charge): Promise<Admission> {
  const admission = await ledger.admit({ ...charge, retry: { key: randomUUID(), fingerprint: 'f' } });
  if ('answer' in admission) throw new Error('The ledger returned a stored response.');
  return admission;
}

/** Waits until `isSo` returns true, then passes with the message `what`. Fails the test after `withinMs`. */
export async function until(t: Test, what: string, withinMs: number, isSo: () => Promise<boolean>) {
  const from = performance.now();
  while (!(await isSo())) {
    if (performance.now() - from > withinMs) return void t.fail(`${what}: not within ${withinMs} ms`);
    await sleep(20);
  }
  t.pass(what);
}
