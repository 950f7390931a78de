// Guarantees of the ledger's protocol when results are lost, leases expire, and days end: docs/decisions/0010.
import { setTimeout as sleep } from 'node:timers/promises';
import { sql } from 'drizzle-orm';
import t from 'tap';
import { v7 as uuidv7 } from 'uuid';
import { type Db, rowsOf } from '../../src/database/client.ts';
import { admitCharges, renewLease, sweepCharges } from '../../src/store/ledger.ts';
import { audit } from '../../src/store/ledger-audit.ts';
import {
  admitInLedger,
  failure,
  isWaitedFor,
  outcome,
  rules,
  start,
  startLedger,
  until,
} from '../support/ledger.ts';

t.test(
  'a request is charged once and delivered, even if the result, the lease, and the renewal are lost',
  async (t) => {
    const { charge, database, db, direct, proxy, states, used } = await start(t);
    const ledger = await startLedger(t, database);
    // The lease expires when the charge is committed, and the backend that renews it dies once.
    await db.execute(sql`create sequence step`);
    await db.execute(sql`
    create function expire() returns trigger language plpgsql as $$ begin
      if (select last_value from step) = 1 then
        perform setval('step', 2);
        update leases set expires_at = ledger_now() - interval '1 second';
      end if;
      return new;
    end $$`);
    await db.execute(
      sql`create trigger expire before insert on requests for each row execute function expire()`,
    );
    await db.execute(sql`
    create function die() returns trigger language plpgsql as $$ begin
      if (select last_value from step) = 2 and new.expires_at > ledger_now() then
        perform setval('step', 3);
        perform pg_terminate_backend(pg_backend_pid());
      end if;
      return new;
    end $$`);
    await db.execute(sql`create trigger die before insert on leases for each row execute function die()`);
    proxy.cutAnswerTo('ledger_admit', 1);
    const admission = await admitInLedger(ledger, charge);
    t.equal(proxy.cuts, 1);
    t.match(await rowsOf(db, sql`select last_value::int as step from step`), [{ step: 3 }]);
    await ledger.finalize(admission, outcome);
    t.same(await states(), ['final']);
    t.match(await used(), [{ used: 1 }, { used: 7 }]);
    t.same((await audit(direct.db)).differences, []);
  },
);

t.test(
  'a delayed refund does not wait behind more than a thousand that have nothing to refund',
  async (t) => {
    const { charge, database, proxy, states } = await start(t);
    const ledger = await startLedger(t, database);
    const admission = await admitInLedger(ledger, charge);
    // One outage leaves those of one batch.
    for (const _ of ['first outage', 'second outage']) {
      proxy.blackHole(false);
      await ledger.refund(await admitInLedger(ledger, charge), failure);
      proxy.blackHole(true);
      const lost = await Promise.allSettled(Array.from({ length: 200 }, () => admitInLedger(ledger, charge)));
      t.ok(lost.every(({ status }) => status === 'rejected'));
    }
    t.ok(ledger.unsettled > 1000, `${ledger.unsettled} wait, one for each day that a charge may belong to`);
    await ledger.refund(admission, failure);
    t.same((await states()).sort(), ['admitted', 'refunded', 'refunded'], 'the database is unreachable');
    proxy.blackHole(false);
    await until(t, 'the charge is refunded', 8000, async () => !(await states()).includes('admitted'));
  },
);

t.test('after an outage, more than five hundred delayed refunds are all applied', async (t) => {
  const { charge, database, proxy, states, used } = await start(t);
  const ledger = await startLedger(t, database);
  const admissions = await Promise.all(Array.from({ length: 1200 }, () => admitInLedger(ledger, charge)));
  proxy.refuse();
  await Promise.all(admissions.map((admission) => ledger.refund(admission, failure)));
  t.match(await used(), [{ used: 1200 }]);
  proxy.accept();
  await until(t, 'all charges are refunded', 8000, async () => (await used()).length === 0);
  t.same([...new Set(await states())], ['refunded']);
});

t.test('the sweep does not miss a charge that is being committed while its lease expires', async (t) => {
  const { database, db, direct, row, states, used } = await start(t);
  const holder = uuidv7();
  await renewLease(direct, holder, 1);
  const leases = () => rowsOf(db, sql`select process from leases where process = ${holder}`);
  const expired = () =>
    rowsOf(db, sql`select from leases where process = ${holder} and expires_at <= ledger_now()`);
  await db.transaction(async (tx) => {
    await admitCharges(within(tx), [row()], rules(holder), false, 1000);
    await until(t, 'the lease expires', 5000, async () => (await expired()).length === 1);
    t.equal(await sweepCharges(database, 100), 0);
    t.equal((await leases()).length, 1, 'the lease is skipped, not deleted');
  });
  t.same(await states(), ['admitted']);
  t.equal(await sweepCharges(database, 100), 1);
  t.same(await states(), ['refunded']);
  t.same(await used(), []);
  t.equal((await leases()).length, 0);
});

t.test(
  'an admission whose retry succeeded before midnight is not repeated when the original arrives after midnight',
  async (t) => {
    const { database, db, row, states, used } = await start(t);
    const holder = uuidv7();
    const setClock = (time: string) =>
      db.execute(
        sql.raw(`create or replace function ledger_now() returns timestamptz language sql volatile
               as $$ select (current_date + time '${time}')::timestamp at time zone 'UTC' $$`),
      );
    const nextDay = (time: string) =>
      db.execute(
        sql.raw(`create or replace function ledger_now() returns timestamptz language sql volatile
               as $$ select (current_date + 1 + time '${time}')::timestamp at time zone 'UTC' $$`),
      );
    await setClock('23:59:59');
    await renewLease(database, holder, 3600);
    const slow = row();
    const [made] = await admitCharges(database, [slow], rules(holder), true, 1000);
    await nextDay('00:01:59');
    const [late] = await admitCharges(database, [slow], rules(holder), false, 1000);
    t.match(late, { id: slow.id, outcome: 'admitted', day: made?.day });
    t.same(await states(), ['admitted']);
    t.match(await used(), [{ day: made?.day, used: 1 }]);
    const [other] = await admitCharges(database, [row()], rules(holder), false, 1000);
    t.not(other?.day, made?.day, 'a new charge belongs to the new day');
  },
);

t.test('an admission that waits for a lock past midnight is charged to the new day', async (t) => {
  const { account, database, db, row, used } = await start(t);
  const holder = uuidv7();
  const untilMidnightMs = 86_400_000 - (Date.now() % 86_400_000);
  await db.execute(
    sql.raw(`create or replace function ledger_now() returns timestamptz language sql volatile
             as $$ select clock_timestamp() + interval '${untilMidnightMs - 3000} ms' $$`),
  );
  const today = async () =>
    (await rowsOf<{ day: string }>(db, sql`select ledger_day(ledger_now())::text as day`))[0]?.day;
  const before = await today();
  await renewLease(database, holder, 3600);
  await admitCharges(database, [row()], rules(holder), false, 1000);
  let waiting: ReturnType<typeof admitCharges> | undefined;
  await db.transaction(async (tx) => {
    await tx.execute(sql`select from usage_counters where account_id = ${account} for update`);
    waiting = admitCharges(database, [row()], rules(holder), false, 10_000);
    await until(t, 'the admission waits', 2500, () => isWaitedFor(tx));
    t.equal(await today(), before, 'before midnight');
    while ((await today()) === before) await sleep(50);
  });
  t.match(await waiting, [{ outcome: 'admitted', day: await today() }]);
  t.same(
    (await used()).map(({ used }) => used),
    [1, 1],
  );
});

/** Runs the ledger's statements within an open transaction. */
function within(tx: Db): Parameters<typeof admitCharges>[0] {
  const run = async (text: string, parameters: unknown[]) => {
    const pieces = text.split(/\$\d+/).map((piece) => sql.raw(piece));
    return rowsOf(
      tx,
      sql.join(pieces.flatMap((piece, n) => (n === 0 ? [piece] : [sql`${parameters[n - 1]}`, piece]))),
    );
  };
  return { run } as unknown as Parameters<typeof admitCharges>[0];
}
