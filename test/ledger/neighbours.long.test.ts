// One account's load or locks do not affect other accounts: contract section 5, docs/decisions/0010.
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { sql } from 'drizzle-orm';
import t from 'tap';
import { v7 as uuidv7 } from 'uuid';
import { type Db, rowsOf } from '../../src/database/client.ts';
import type { Admission } from '../../src/ledger/types.ts';
import { admitCharges, renewLease, sweepCharges } from '../../src/store/ledger.ts';
import { audit } from '../../src/store/ledger-audit.ts';
import { admitInLedger, failure, outcome, rules, start, startLedger, until } from '../support/ledger.ts';

const MIB = 1024 * 1024;

/** Runs work while an account's counters are locked. */
const whileLocked = (db: Db, accountId: string, work: () => Promise<void>) =>
  db.transaction(async (tx) => {
    await tx.execute(sql`select from usage_counters where account_id = ${accountId} for update`);
    await work();
  });

/** In milliseconds. Infinity if one failed. */
const slowestOf = (results: PromiseSettledResult<number>[]) =>
  Math.max(
    ...results.map((result) =>
      result.status === 'fulfilled' ? Math.round(result.value) : Number.POSITIVE_INFINITY,
    ),
  );

t.test('large replies do not delay small ones of another account', async (t) => {
  const { charge, database, db, newAccount } = await start(t);
  const ledger = await startLedger(t, database);
  const other = { ...charge, accountId: await newAccount() };
  const accounts = [charge.accountId, await newAccount(), await newAccount(), await newAccount()];
  const large = await Promise.all(
    Array.from({ length: 16 }, (_, n) => {
      const retry = { key: randomUUID(), fingerprint: 'f' };
      return ledger.admit({ ...charge, accountId: String(accounts[n % 4]), retry }) as Promise<Admission>;
    }),
  );
  const small = await Promise.all(Array.from({ length: 20 }, () => ledger.admit(other)));
  const answer = 'x'.repeat(6 * MIB);
  const startedAt = performance.now();
  const stored = Promise.allSettled(
    large.map(async (admission) => {
      await ledger.finalize(admission, { ...outcome, answer: { status: 200, body: answer } });
      return performance.now() - startedAt;
    }),
  );
  const timed = await Promise.allSettled(
    small.map(async (admission, n) => {
      // Spreads the small answers over the time in which the large ones are stored.
      await sleep(n * 50);
      const from = performance.now();
      await ledger.finalize(admission, outcome);
      return performance.now() - from;
    }),
  );
  const slowest = slowestOf(timed);
  const largest = slowestOf(await stored);
  t.ok(largest < Number.POSITIVE_INFINITY, 'the large replies are stored');
  // Relative, so that it holds on any machine: small charges do not wait until all large replies are written.
  t.ok(slowest < largest / 2, `the slowest small charge took ${slowest} ms, the large replies ${largest} ms`);
  const sizes = await rowsOf(db, sql`select distinct length(body) as length from idempotency_keys`);
  t.same(sizes, [{ length: 6 * MIB }]);
  t.same((await audit(db)).differences, []);
});

t.test('the sweep skips a locked account, however many open charges it has', async (t) => {
  const { account, database, db, newAccount, row, states } = await start(t);
  const other = await newAccount();
  const holder = uuidv7();
  await renewLease(database, holder, 3600);
  const charges = [row(), row(), row(), row(other)];
  await admitCharges(database, charges, rules(holder), false, 1000);
  await renewLease(database, holder, -1);
  await whileLocked(db, account, async () => {
    for (const atMost of [100, 2]) {
      if (atMost === 2) await admitOneMore();
      t.equal(await sweepCharges(database, atMost), 1, `a sweep of at most ${atMost}`);
      t.same([...new Set(await states(other))], ['refunded']);
      t.same(await states(), ['admitted', 'admitted', 'admitted']);
    }
  });
  t.equal(await sweepCharges(database, 2), 2);
  t.equal(await sweepCharges(database, 2), 1);
  t.same([...new Set(await states())], ['refunded']);
  t.same(await rowsOf(db, sql`select process from leases where process = ${holder}`), []);
  t.same((await audit(db)).differences, []);

  async function admitOneMore() {
    await renewLease(database, holder, 3600);
    await admitCharges(database, [row(other)], rules(holder), false, 1000);
    await renewLease(database, holder, -1);
  }
});

t.test('a delayed refund does not wait for a delayed refund of a locked account', async (t) => {
  const { account, charge, database, db, newAccount, proxy, states } = await start(t);
  const ledger = await startLedger(t, database);
  const other = await newAccount();
  const admissions = await Promise.all(
    [account, other].map((accountId) => admitInLedger(ledger, { ...charge, accountId })),
  );
  proxy.refuse();
  await Promise.all(admissions.map((admission) => ledger.refund(admission, failure)));
  await whileLocked(db, account, async () => {
    proxy.accept();
    await until(
      t,
      'the other account is refunded',
      8000,
      async () => (await states(other)).join() === 'refunded',
    );
    t.same(await states(), ['admitted']);
  });
  await until(t, 'the locked account is refunded', 8000, async () => (await states()).join() === 'refunded');
  t.same((await audit(db)).differences, []);
});

t.test('charges use the UTC day, whatever the time zone of the database', async (t) => {
  const { charge, database, db, used } = await start(t);
  // In Cairo, the clocks go forward at midnight on April 30, so that day has 23 hours and no midnight.
  await db.execute(sql`
    do $$ begin execute format('alter database %I set timezone = ''Africa/Cairo''', current_database()); end $$`);
  await db.execute(sql`
    create or replace function ledger_now() returns timestamptz language sql volatile
    as $$ select timestamptz '2027-05-01T00:00:30Z' $$`);
  await db.execute(sql`select ledger_make_partitions(1)`);
  const ledger = await startLedger(t, database);
  t.match(await database.run('show timezone', []), [{ TimeZone: 'Africa/Cairo' }]);
  const admission = await ledger.admit(charge);
  t.equal(admission.day, '2027-05-01');
  await ledger.finalize(admission, outcome);
  t.match(await used(), [
    { day: '2027-05-01', used: 1 },
    { day: '2027-05-01', used: 7 },
  ]);
});
