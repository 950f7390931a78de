// The daily token limit: reservations, settlements, and charges left by dead processes. Contract section 15.
import { randomUUID } from 'node:crypto';
import { sql } from 'drizzle-orm';
import t, { type Test } from 'tap';
import { type Database, type Db, openDatabase, rowsOf } from '../../src/database/client.ts';
import { newId } from '../../src/domain/ids.ts';
import type { Plan, PlanCatalog } from '../../src/domain/plans.ts';
import { Ledger } from '../../src/ledger/ledger.ts';
import type { Admission } from '../../src/ledger/types.ts';
import { renewLease, type SettlementRow, settleCharges, sweepCharges } from '../../src/store/ledger.ts';
import { audit } from '../../src/store/ledger-audit.ts';
import { isWaitedFor, silentLog } from '../support/ledger.ts';
import { databaseKinds, freshDatabase } from '../support/service.ts';
import { eventually } from '../support/upstream/engine.ts';

const planOf = (id: string, chat: number | null, tokens: number | null): Plan => ({
  id,
  name: id,
  currency: 'USD',
  monthly_price_cents: 0,
  yearly_price_cents: 0,
  limits: { chat, images: null, search: null, embeddings: null, tokens },
  requests_per_minute: 1000,
});
const all = new Map([
  ['limited', planOf('limited', null, 1000)],
  ['both', planOf('both', 5, 1000)],
  ['free', planOf('free', null, null)],
]);
const standard = all.get('limited') as Plan;
const plans: PlanCatalog = {
  ...{ plans: [...all.values()], standard },
  find: (id) => all.get(id),
  of: ({ plan }) => all.get(plan) ?? standard,
};

const failure = { code: 'upstreamError', statusCode: 502 };
const told = (inputTokens: number, outputTokens: number) => ({ model: 'm', inputTokens, outputTokens });
const body = JSON.stringify({ reply: 'Hello' });

async function fixture(t: Test, database: Database) {
  const { db } = database;
  const processes: Ledger[] = [];
  t.teardown(() => Promise.all(processes.map((one) => one.stop())));
  return {
    db,
    async process(): Promise<Ledger> {
      const ledger = new Ledger(database, plans, silentLog);
      await ledger.start();
      processes.push(ledger);
      return ledger;
    },
    async account(plan = 'limited') {
      const id = newId();
      await db.execute(sql`
        insert into accounts (id, email, email_key, password_hash, plan, billing_period, plan_changed_at, created_at)
        values (${id}, ${id}, ${id}, 'x', ${plan}, 'monthly', now(), now())`);
      const charge = { accountId: id, keyId: null, endpoint: 'POST /x', meter: 'chat', units: 1 } as const;
      const counter = async () => {
        const [row] = await rowsOf<{ used: number; reserved: number; excess: number }>(
          db,
          sql`select sum(used)::int as used, sum(reserved)::int as reserved, sum(excess)::int as excess
              from usage_counters where account_id = ${id} and meter = 'tokens'`,
        );
        return { used: row?.used ?? 0, reserved: row?.reserved ?? 0, excess: row?.excess ?? 0 };
      };
      const ofMeter = async () => {
        const [row] = await rowsOf<{ used: number }>(
          db,
          sql`select used::int from usage_counters where account_id = ${id} and meter = 'chat'`,
        );
        return row?.used ?? 0;
      };
      return { id, charge, counter, ofMeter };
    },
    /** Expires its lease, as if the process had died 20 s ago. */
    async kill(ledger: Ledger, atOnce = 500) {
      await renewLease(database, ledger.process, -1);
      while ((await sweepCharges(database, atOnce)) > 0);
    },
    async isClean(t: Test) {
      t.strictSame((await audit(db)).differences, [], 'the audit is clean');
    },
  };
}

const refusal = { code: 'quotaExceeded', options: { limit: { name: 'tokens' } } };

/** Admits or resumes a request with an idempotency key. */
async function retried(ledger: Ledger, charge: object, key: string): Promise<Admission> {
  const admission = await ledger.admit({ ...(charge as Admission), retry: { key, fingerprint: 'f' } });
  if ('answer' in admission) throw new Error('The request is already complete.');
  return admission;
}

/** Runs `work` while the ledger's clock shows another time. */
async function at(db: Database['db'], time: string, work: () => Promise<void>): Promise<void> {
  const setClock = (now: string) =>
    db.execute(
      sql.raw(
        `create or replace function ledger_now() returns timestamptz language sql volatile as $$ select ${now} $$`,
      ),
    );
  await setClock(time);
  try {
    await work();
  } finally {
    await setClock('clock_timestamp()');
  }
}

const MIDNIGHT = `((clock_timestamp() at time zone 'UTC')::date + 1)::timestamp at time zone 'UTC'`;

for (const kind of databaseKinds) {
  t.test(kind, async (t) => {
    const { drop, env } = await freshDatabase(kind);
    const database = await openDatabase(
      env.DATABASE_URL === undefined ? { dataDir: String(env.DATA_DIR) } : { url: env.DATABASE_URL },
    );
    const made = await fixture(t, database);
    t.teardown(async () => {
      await database.close();
      await drop();
    });
    const { account, isClean, kill, process } = made;
    const ledger = await process();

    await t.test('a request reserves its tokens and is settled to the reported tokens', async (t) => {
      const { charge, counter } = await account();
      const admission = await ledger.admit({ ...charge, tokens: 700 });
      t.match(admission.reserved, { meter: 'tokens', used: 700, ceiling: 1000 });
      t.same(await counter(), { used: 0, reserved: 700, excess: 0 });
      await isClean(t);
      await t.rejects(ledger.admit({ ...charge, tokens: 301 }), {
        code: 'quotaExceeded',
        options: { limit: { name: 'tokens', ceiling: 1000, remaining: 300, needed: 301 } },
      });
      await ledger.finalize(admission, told(20, 30));
      t.same(await counter(), { used: 50, reserved: 0, excess: 0 });
      const next = await ledger.admit({ ...charge, tokens: 950 });
      t.match(next.reserved, { used: 1000 }, 'unused tokens are available again');
      await ledger.refund(next, failure);
      t.same(await counter(), { used: 50, reserved: 0, excess: 0 }, 'a refund releases all reserved tokens');
      await isClean(t);
    });

    await t.test('an admission whose result is lost is refunded together with its tokens', async (t) => {
      const { charge, counter, id } = await account();
      const { day, id: request } = await ledger.admit({ ...charge, tokens: 400 });
      // The refund that the ledger sends in this case, without token counts.
      const lost: SettlementRow = {
        ...{ kind: 'refund', account_id: id, day, id: request, status: 503, code: 'serviceUnavailable' },
        ...{ model: null, input_tokens: null, output_tokens: null, latency_ms: 0 },
      };
      const rules = { ceilings: {}, standard: 'limited', holder: ledger.process };
      await settleCharges(database, [lost], rules, false, 5000);
      t.same(await counter(), { used: 0, reserved: 0, excess: 0 });
      await isClean(t);
    });

    await t.test('a stream keeps its reserved tokens until it ends', async (t) => {
      const { charge, counter } = await account();
      const admission = await ledger.admit({ ...charge, tokens: 700 });
      await ledger.finalize(admission);
      t.same(await counter(), { used: 0, reserved: 700, excess: 0 });
      await t.rejects(ledger.admit({ ...charge, tokens: 301 }), refusal);
      await ledger.complete(admission, told(0, 0));
      t.same(
        await counter(),
        { used: 0, reserved: 0, excess: 0 },
        'the tokens are released even if none were used',
      );
      await isClean(t);
    });

    await t.test(
      'tokens that an upstream reports beyond the reservation count against the next request',
      async (t) => {
        const { charge, counter, id } = await account();
        const admission = await ledger.admit({ ...charge, tokens: 600 });
        await ledger.finalize(admission, told(100, 800));
        t.same(await counter(), { used: 900, reserved: 0, excess: 300 });
        const [row] = await rowsOf<{ details: unknown }>(
          made.db,
          sql`select details from requests where account_id = ${id}`,
        );
        t.same(row?.details, { excess_tokens: 300 });
        await t.rejects(ledger.admit({ ...charge, tokens: 101 }), refusal);
        await ledger.refund(await ledger.admit({ ...charge, tokens: 100 }), failure);
        await isClean(t);
      },
    );

    await t.test('both limits hold, and a refusal by one uses nothing of the other', async (t) => {
      const { charge, counter, ofMeter } = await account('both');
      await t.rejects(ledger.admit({ ...charge, tokens: 1001 }), refusal);
      t.equal(await ofMeter(), 0);
      const settled = await Promise.allSettled(
        Array.from({ length: 20 }, () => ledger.admit({ ...charge, tokens: 10 })),
      );
      t.equal(settled.filter(({ status }) => status === 'fulfilled').length, 5);
      t.same(await counter(), { used: 0, reserved: 50, excess: 0 });
      await isClean(t);
    });

    await t.test('an account whose plan has no token limit reserves no tokens', async (t) => {
      const { charge, counter, id } = await account('free');
      const admission = await ledger.admit({ ...charge, tokens: 5000 });
      t.equal(admission.reserved, undefined);
      await ledger.finalize(admission, told(1500, 0));
      t.same(await counter(), { used: 1500, reserved: 0, excess: 0 });
      await made.db.execute(sql`update accounts set plan = 'limited' where id = ${id}`);
      await t.rejects(
        ledger.admit({ ...charge, tokens: 1 }),
        refusal,
        'used tokens count once the plan has a limit',
      );
      await isClean(t);
    });

    await t.test(
      'if the plan loses its token limit while a request runs, the reservation is released',
      async (t) => {
        const { charge, counter, id } = await account();
        const admission = await ledger.admit({ ...charge, tokens: 500 });
        await made.db.execute(sql`update accounts set plan = 'free' where id = ${id}`);
        await ledger.finalize(admission, told(1, 2));
        t.same(await counter(), { used: 3, reserved: 0, excess: 0 });
        await isClean(t);
      },
    );

    await t.test('of many concurrent requests, only as many as fit are admitted', async (t) => {
      const { charge, counter } = await account();
      const settled = await Promise.allSettled(
        Array.from({ length: 200 }, () => ledger.admit({ ...charge, tokens: 90 })),
      );
      t.equal(settled.filter(({ status }) => status === 'fulfilled').length, 11);
      t.same(await counter(), { used: 0, reserved: 990, excess: 0 });
    });

    await t.test(
      'if a process dies, a request without a reply is refunded, and a stream counts all its reserved tokens',
      async (t) => {
        const { charge, counter, ofMeter } = await account();
        const dead = await process();
        await dead.admit({ ...charge, tokens: 100 });
        const stream = await dead.admit({ ...charge, tokens: 300 });
        await dead.finalize(stream);
        t.same(await counter(), { used: 0, reserved: 400, excess: 0 });
        await kill(dead);
        t.same(await counter(), { used: 300, reserved: 0, excess: 0 });
        t.equal(await ofMeter(), 1);
        await isClean(t);
        // Another charge of the account, so that the sweep visits it again.
        await dead.admit({ ...charge, tokens: 50 });
        await kill(dead);
        t.same(await counter(), { used: 300, reserved: 0, excess: 0 }, 'the stream counts only once');
        await dead.complete(stream, told(10, 20));
        t.same(
          await counter(),
          { used: 30, reserved: 0, excess: 0 },
          'the process was alive after all: the reported tokens count',
        );
        await isClean(t);
      },
    );

    await t.test('sweeps with a small limit count all streams of a dead process', async (t) => {
      const { charge, counter } = await account();
      const dead = await process();
      for (let n = 0; n < 3; n += 1) await dead.finalize(await dead.admit({ ...charge, tokens: 100 }));
      await kill(dead, 1);
      t.same(await counter(), { used: 300, reserved: 0, excess: 0 });
      await isClean(t);
    });

    await t.test('a resumed charge keeps the reservation of its first attempt', async (t) => {
      const { charge, counter } = await account();
      const [dead, key] = [await process(), randomUUID()];
      await dead.finalize(await retried(dead, { ...charge, tokens: 600 }, key));
      await kill(dead);
      t.same(await counter(), { used: 600, reserved: 0, excess: 0 });
      const again = await retried(ledger, { ...charge, tokens: 600 }, key);
      t.type(again.attempt, 'string');
      t.ok(again.reserved);
      t.same(await counter(), { used: 0, reserved: 600, excess: 0 });
      await isClean(t);
      await ledger.finalize(again, { ...told(5, 6), answer: { status: 200, body } });
      t.same(await counter(), { used: 11, reserved: 0, excess: 0 });
      t.match(await ledger.admit({ ...charge, tokens: 600, retry: { key, fingerprint: 'f' } }), {
        answer: { status: 200 },
      });
      t.same(await counter(), { used: 11, reserved: 0, excess: 0 }, 'a replay reserves nothing');
      await isClean(t);
    });

    await t.test(
      'if the first attempt used its tokens, a retry reserves them again, or is refused while they do not fit',
      async (t) => {
        const { charge, counter } = await account();
        const key = randomUUID();
        const first = await retried(ledger, { ...charge, tokens: 600 }, key);
        await ledger.finalize(first);
        await ledger.complete(first, {
          ...told(100, 200),
          failure: { code: 'serviceUnavailable', statusCode: 503 },
        });
        t.same(await counter(), { used: 300, reserved: 0, excess: 0 });
        const other = await ledger.admit({ ...charge, tokens: 400 });
        for (let n = 0; n < 3; n += 1)
          await t.rejects(retried(ledger, { ...charge, tokens: 600 }, key), refusal);
        t.same(await counter(), { used: 300, reserved: 400, excess: 0 });
        await ledger.refund(other, failure);
        const again = await retried(ledger, { ...charge, tokens: 600 }, key);
        t.same(await counter(), { used: 300, reserved: 600, excess: 0 });
        await isClean(t);
        await ledger.finalize(again, { ...told(10, 20), answer: { status: 200, body } });
        t.same(await counter(), { used: 330, reserved: 0, excess: 0 });
        await isClean(t);
      },
    );

    await t.test(
      'if a process presumed dead settles first, all tokens of the resumed attempt are in excess',
      async (t) => {
        const { charge, counter } = await account();
        const [dead, key] = [await process(), randomUUID()];
        const first = await retried(dead, { ...charge, tokens: 600 }, key);
        await dead.finalize(first);
        await kill(dead);
        const again = await retried(ledger, { ...charge, tokens: 600 }, key);
        await dead.complete(first, told(100, 200));
        t.same(await counter(), { used: 300, reserved: 0, excess: 0 });
        const other = await ledger.admit({ ...charge, tokens: 700 });
        await ledger.finalize(again, { ...told(10, 40), answer: { status: 200, body } });
        t.same(await counter(), { used: 350, reserved: 700, excess: 50 });
        await isClean(t);
        await ledger.refund(other, failure);
      },
    );

    await t.test('a resumed charge has no excess if the plan lost its token limit', async (t) => {
      const { charge, counter, id } = await account();
      const key = randomUUID();
      const first = await retried(ledger, { ...charge, tokens: 600 }, key);
      await ledger.finalize(first);
      await ledger.complete(first, { ...told(1, 2), failure: { code: 'x', statusCode: 503 } });
      await made.db.execute(sql`update accounts set plan = 'free' where id = ${id}`);
      const again = await retried(ledger, { ...charge, tokens: 600 }, key);
      await ledger.finalize(again, { ...told(3, 4), answer: { status: 200, body } });
      t.same(await counter(), { used: 10, reserved: 0, excess: 0 });
      await isClean(t);
    });

    await t.test(
      "midnight: a resumed charge reserves on its first day, checked under the counter's lock",
      async (t) => {
        const { charge, counter, id } = await account();
        const key = randomUUID();
        const resumed = () => retried(ledger, { ...charge, tokens: 600 }, key);
        const use = (db: Db, tokens: number) =>
          db.execute(sql`
          update usage_counters set used = used + ${tokens}::int
          where account_id = ${id} and meter = 'tokens' and used > 0`);
        await at(made.db, `${MIDNIGHT} - interval '1 hour'`, async () => {
          const first = await resumed();
          await ledger.finalize(first);
          await ledger.complete(first, { ...told(100, 200), failure: { code: 'x', statusCode: 503 } });
        });
        await at(made.db, `${MIDNIGHT} + interval '1 hour'`, async () => {
          if (kind === 'postgres') {
            const refused = await made.db.transaction(async (tx) => {
              await use(tx, 200);
              const waiting = resumed().catch((error: unknown) => error);
              await eventually('the retry waits for the lock', () => isWaitedFor(tx));
              return { waiting };
            });
            t.match(await refused.waiting, refusal);
            await use(made.db, -200);
          }
          const again = await resumed();
          t.type(again.attempt, 'string');
          t.same(await counter(), { used: 300, reserved: 600, excess: 0 });
          await ledger.finalize(again, { ...told(10, 20), answer: { status: 200, body } });
          t.same(await counter(), { used: 330, reserved: 0, excess: 0 });
          await isClean(t);
        });
      },
    );

    if (kind === 'postgres')
      await t.test(
        'midnight: a charge that ends while its retry waits for locks is resumed later',
        async (t) => {
          const { charge, counter, id } = await account();
          const [other, key] = [await process(), randomUUID()];
          const asked = { ...charge, tokens: 600 };
          const retry = () => retried(ledger, asked, key);
          await at(made.db, `${MIDNIGHT} - interval '1 hour'`, async () => {
            const first = await retried(other, asked, key);
            await at(made.db, `${MIDNIGHT} + interval '1 hour'`, async () => {
              // Creates today's counters.
              await ledger.refund(await ledger.admit({ ...charge, tokens: 1 }), failure);
              const { waiting } = await made.db.transaction(async (tx) => {
                await tx.execute(sql`
                select from usage_counters where account_id = ${id} and meter = 'tokens'
                order by day desc limit 1 for update`);
                const answer = retry().catch((error: unknown) => error);
                await eventually('the retry waits for the lock', () => isWaitedFor(tx));
                await other.finalize(first);
                await other.complete(first, { ...told(100, 200), failure: { code: 'x', statusCode: 503 } });
                return { waiting: answer };
              });
              t.match(await waiting, { code: 'idempotencyInProgress' });
              t.same(await counter(), { used: 300, reserved: 0, excess: 0 });
              await isClean(t);
              const again = await retry();
              t.type(again.attempt, 'string');
              t.same(await counter(), { used: 300, reserved: 600, excess: 0 });
              await ledger.finalize(again, { ...told(10, 20), answer: { status: 200, body } });
              t.same(await counter(), { used: 330, reserved: 0, excess: 0 });
              await isClean(t);
            });
          });
        },
      );

    await t.test('midnight: tokens count on the day of their reservation', async (t) => {
      const { charge, id } = await account();
      const before = await ledger.admit({ ...charge, tokens: 800 });
      await at(made.db, `clock_timestamp() + interval '1 day'`, async () => {
        const after = await ledger.admit({ ...charge, tokens: 800 });
        await ledger.finalize(before, told(1, 1));
        await ledger.finalize(after, told(2, 2));
        const rows = await rowsOf<{ used: number; reserved: number }>(
          made.db,
          sql`select used::int, reserved::int from usage_counters
              where account_id = ${id} and meter = 'tokens' order by day`,
        );
        t.same(rows, [
          { used: 2, reserved: 0 },
          { used: 4, reserved: 0 },
        ]);
        await isClean(t);
      });
    });
  });
}
