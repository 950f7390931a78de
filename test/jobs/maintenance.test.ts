import { mock } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { sql } from 'drizzle-orm';
import t, { type Test } from 'tap';
import { v7 as uuidv7 } from 'uuid';
import { type Database, type Db, openDatabase, rowsOf } from '../../src/database/client.ts';
import { defaultPlans } from '../../src/domain/plans.ts';
import { jobNames, Maintenance } from '../../src/jobs/maintenance.ts';
import { Ledger } from '../../src/ledger/ledger.ts';
import { audit } from '../../src/store/ledger-audit.ts';
import { purgeDeletedAccounts } from '../../src/store/purge.ts';
import { shiftClock } from '../support/clock.ts';
import { fill, tablesOf } from '../support/fill.ts';
import { admitInLedger, silentLog } from '../support/ledger.ts';
import { type DatabaseKind, databaseKinds, freshDatabase } from '../support/service.ts';
import { eventually } from '../support/upstream/engine.ts';

const log = { warn: () => {} };
const outcome = { model: 'm', inputTokens: 3, outputTokens: 4 };

async function open(t: Test, kind: DatabaseKind) {
  const fresh = await freshDatabase(kind);
  const { DATABASE_URL: url, DATA_DIR: dataDir } = fresh.env;
  const database = await openDatabase(url ? { url } : { dataDir: String(dataDir) });
  const ledger = new Ledger(database, defaultPlans, silentLog);
  await ledger.start();
  t.teardown(async () => {
    await ledger.stop();
    await database.close();
    await fresh.drop();
  });
  const maintainer = (requestLogDays = 90) =>
    new Maintenance(database, { databaseDirectUrl: url, requestLogDays }, log);
  return { database, db: database.db, maintainer, ledger, url };
}

async function newAccount(db: Db, plan = 'pro'): Promise<string> {
  const id = uuidv7();
  await db.execute(
    sql`insert into accounts values (${id}, ${id}, ${id}, 'x', ${plan}, 'monthly', now(), now(), null)`,
  );
  return id;
}

const deleted = (db: Db, id: string, ago: string) =>
  db.execute(sql`update accounts set deleted_at = now() - ${ago}::interval where id = ${id}`);

const count = async (db: Db, from: ReturnType<typeof sql>): Promise<number> =>
  (await rowsOf<{ count: number }>(db, sql`select count(*)::int as count from ${from}`))[0]?.count ?? -1;

/** The days that have a partition of `requests`, as offsets from today. */
const days = async (db: Db): Promise<number[]> =>
  (
    await rowsOf<{ offset: number }>(
      db,
      sql`select to_date(right(relname, 8), 'YYYYMMDD') - ledger_day(ledger_now()) as offset
          from pg_class where relname ~ '^requests_[0-9]{8}$' and relkind = 'r' order by 1`,
    )
  ).map((row) => row.offset);

/** Whether maintenance has started to detach a day and waits for earlier transactions. */
const isDetaching = async (db: Db): Promise<boolean> =>
  (await count(db, sql`pg_inherits where inhdetachpending`)) === 1;

const range = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, n) => from + n);

/** Creates partitions starting this many days ago, each with a charge of the account. */
async function pastDays(db: Db, accountId: string, ago: number): Promise<void> {
  await shiftClock(db, `-${ago} days`);
  await db.execute(sql`select ledger_make_partitions(${ago}::int)`);
  await shiftClock(db, '0 day');
  await db.execute(sql`
    insert into requests (account_id, day, id, endpoint, meter, units, state, process, admitted_at, status)
    select ${accountId}::uuid, day, gen_random_uuid(), 'POST /x', 'chat', 1, 'final', gen_random_uuid(), day, 200
    from (select ledger_day(ledger_now()) - n as day from generate_series(0, ${ago}::int) n) d`);
  await db.execute(sql`
    insert into usage_counters select account_id, day, meter, 1 from requests where account_id = ${accountId}`);
}

/** The tables with rows of accounts, according to the database. Partitions count as part of their table. */
const accountTables = (db: Db) => tablesOf(db, 'account_id');

async function rowsByTable(db: Db, accountId: string): Promise<Record<string, number>> {
  const found: Record<string, number> = {};
  for (const table of await accountTables(db)) {
    const rows = await count(db, sql`${sql.identifier(table)} where account_id = ${accountId}::uuid`);
    found[table] = rows;
  }
  return found;
}

for (const kind of databaseKinds) {
  t.test(kind, async (t) => {
    const { db, maintainer, ledger } = await open(t, kind);

    await t.test('maintenance drops days that are too old, and creates a week in advance', async (t) => {
      const account = await newAccount(db);
      await pastDays(db, account, 12);
      await db.execute(sql`
        insert into refusals select ${account}::uuid, date_trunc('minute', ledger_now()) - n * interval '1 day',
               gen_random_uuid(), 'quotaExceeded', 429, 1 from generate_series(0, 12) n`);
      t.equal(await maintainer(20).run(), true);
      t.same(await days(db), range(-13, 7), 'no day is old enough');
      t.equal(await count(db, sql`requests`), 13);
      t.equal(await maintainer(5).run(), true);
      t.same(await days(db), range(-4, 7));
      t.equal(
        await count(db, sql`requests where account_id = ${account}`),
        5,
        'today and the four days before',
      );
      t.equal(await count(db, sql`refusals where account_id = ${account}`), 5);
      t.equal(await count(db, sql`usage_counters where account_id = ${account}`), 13, 'totals remain');
      t.same((await audit(db)).differences, [], 'the audit compares only the remaining days');
      await shiftClock(db, '2 days');
      await maintainer(5).run();
      t.same(await days(db), range(-4, 7));
      await shiftClock(db, '0 day');
    });

    await t.test('maintenance deletes idempotency keys after 24 hours, and ended sessions', async (t) => {
      const account = await newAccount(db);
      for (const table of ['idempotency_keys', 'sessions']) {
        await fill(db, table, 2500, account);
        await db.execute(
          sql`update ${sql.identifier(table)} set created_at = now() - interval '23 hours 59 minutes'`,
        );
      }
      await maintainer().run();
      t.match(await rowsByTable(db, account), { idempotency_keys: 2500, sessions: 2500 });
      const some = (table: string, key: string) => sql`
        (select ${sql.identifier(key)} from ${sql.identifier(table)} order by 1 limit 2400)`;
      await db.execute(sql`update idempotency_keys set created_at = now() - interval '1 day 1 second'
                           where key in ${some('idempotency_keys', 'key')}`);
      await db.execute(sql`update sessions set last_seen_at = now() - interval '7 days 1 second'
                           where id in ${some('sessions', 'id')}`);
      await maintainer().run();
      t.match(await rowsByTable(db, account), { idempotency_keys: 100, sessions: 100 });
      await db.execute(sql`update sessions set created_at = now() - interval '30 days 1 second'`);
      await maintainer().run();
      t.match(await rowsByTable(db, account), { sessions: 0 });
    });

    await t.test(
      'maintenance deletes events after 365 days, whatever the value of REQUEST_LOG_DAYS',
      async (t) => {
        const account = await newAccount(db);
        await fill(db, 'account_events', 1200, account);
        await db.execute(sql`update account_events set at = now() - interval '364 days 23 hours 59 minutes'`);
        await maintainer(3).run();
        t.match(await rowsByTable(db, account), { account_events: 1200 });
        await db.execute(sql`update account_events set at = now() - interval '365 days 1 second'
                           where id in (select id from account_events order by id limit 1100)`);
        await maintainer(3).run();
        t.match(await rowsByTable(db, account), { account_events: 100 });
      },
    );

    await t.test('maintenance deletes carried-over usage of earlier days', async (t) => {
      await db.execute(sql`
        insert into carried_usage (email_digest, day, meter, former_account, used)
        select decode(md5(n::text), 'hex'), ledger_day(ledger_now()) - n, 'chat', gen_random_uuid(), 1
        from generate_series(0, 2) n`);
      await maintainer().run();
      t.equal(await count(db, sql`carried_usage`), 1);
      t.equal(await count(db, sql`carried_usage where day = ledger_day(ledger_now())`), 1);
    });

    await t.test('several processes can run maintenance concurrently', async (t) => {
      await pastDays(db, await newAccount(db), 10);
      const done = await Promise.all(Array.from({ length: 4 }, () => maintainer(4).run()));
      t.ok(done.includes(true));
      await maintainer(4).run();
      t.equal((await days(db))[0], -3);
      const gone = await newAccount(db);
      await fill(db, 'requests', 3000, gone);
      await deleted(db, gone, '11 minutes');
      await Promise.all(Array.from({ length: 4 }, () => purgeDeletedAccounts(db)));
      t.equal(await count(db, sql`requests where account_id = ${gone}`), 0);
    });

    await t.test(
      'purging a deleted account removes its rows from every table, and no rows of other accounts',
      async (t) => {
        const [gone, justGone, other] = [await newAccount(db), await newAccount(db), await newAccount(db)];
        const tables = await accountTables(db);
        t.ok(
          tables.length >= 9 && tables.includes('requests') && tables.includes('key_secrets'),
          tables.join(),
        );
        for (const table of tables) {
          for (const account of [gone, justGone, other]) await fill(db, table, 3, account);
          await fill(db, table, 1100, gone);
        }
        const before = [await rowsByTable(db, justGone), await rowsByTable(db, other)];
        const { webhooks, ...many } = await rowsByTable(db, gone);
        t.equal(webhooks, 1, 'an account has at most one webhook');
        t.ok(Object.values(many).every((rows) => rows === 1103));
        await deleted(db, gone, '2 minutes');
        await deleted(db, justGone, '10 seconds');
        await purgeDeletedAccounts(db);
        t.ok(
          Object.values(await rowsByTable(db, gone)).every((rows) => rows === 0),
          JSON.stringify(await rowsByTable(db, gone)),
        );
        t.same([await rowsByTable(db, justGone), await rowsByTable(db, other)], before);
        t.equal(
          await count(db, sql`accounts where id = ${gone}`),
          1,
          'the account row remains while requests could still be in flight',
        );
        await deleted(db, gone, '11 minutes');
        await purgeDeletedAccounts(db);
        t.equal(await count(db, sql`accounts where id = ${gone}`), 0);
        t.equal(await count(db, sql`accounts where id in (${justGone}, ${other})`), 2);
        t.same(await rowsByTable(db, other), before[1]);
      },
    );

    await t.test('requests in flight do not recreate purged data, and the audit stays clean', async (t) => {
      const account = await newAccount(db);
      const charge = {
        accountId: account,
        keyId: null,
        endpoint: 'POST /x',
        meter: 'chat' as const,
        units: 1,
      };
      await ledger.finalize(await ledger.admit(charge), outcome);
      const inLedger = await admitInLedger(ledger, charge);
      const [finalized, refunded] = [await ledger.admit(charge), await ledger.admit(charge)];
      await deleted(db, account, '2 minutes');
      await purgeDeletedAccounts(db);
      await t.rejects(ledger.finalize(inLedger, outcome), { code: 'serviceUnavailable' });
      await t.rejects(ledger.finalize(finalized, outcome), { code: 'sessionRequired' });
      await ledger.refund(refunded, { code: 'upstreamError', statusCode: 502 });
      t.ok(Object.values(await rowsByTable(db, account)).every((rows) => rows === 0));
      const half = await newAccount(db);
      await ledger.finalize(await ledger.admit({ ...charge, accountId: half }), outcome);
      await deleted(db, half, '1 second');
      await db.execute(sql`delete from requests where account_id = ${half}`);
      const { differences } = await audit(db);
      t.same(
        differences.filter(({ accountId }) => [account, half].includes(accountId)),
        [],
      );
    });

    await t.test(
      'the timer purges deleted accounts each minute, and runs maintenance at the first tick',
      async (t) => {
        const account = await newAccount(db);
        await fill(db, 'messages', 5, account);
        await pastDays(db, account, 6);
        await deleted(db, account, '2 minutes');
        mock.timers.enable({ apis: ['setInterval'] });
        const keeper = maintainer(4);
        keeper.start();
        t.equal(await count(db, sql`messages where account_id = ${account}`), 5);
        mock.timers.tick(60_000);
        await eventually('old days are dropped', async () => (await days(db))[0] === -3);
        t.equal(await count(db, sql`messages where account_id = ${account}`), 0);
        const next = await newAccount(db);
        await fill(db, 'messages', 5, next);
        await deleted(db, next, '2 minutes');
        const left = () => count(db, sql`messages where account_id = ${next}`);
        // Ticks pass while the first maintenance ends. They are fewer than those of an hour.
        for (let n = 0; n < 50 && (await left()) > 0; n += 1) {
          mock.timers.tick(60_000);
          await delay(50);
        }
        mock.timers.reset();
        await keeper.stop();
        t.equal(await left(), 0, 'another account is purged before the next maintenance');
      },
    );
  });
}

t.test('if every job fails, the log names each one, and the process keeps running', async (t) => {
  const db = { execute: () => Promise.reject(new Error('The disk is full.')) } as unknown as Db;
  const database = { kind: 'embedded', db } as Database;
  const said: string[] = [];
  const ended = new Promise<void>((resolve, reject) => {
    process.once('unhandledRejection', reject);
    t.teardown(() => process.off('unhandledRejection', reject));
    const warn = (_: object, message: string) => {
      said.push(message);
      if (message.startsWith('Maintenance could not finish.')) resolve();
    };
    const config = { databaseDirectUrl: undefined, requestLogDays: 90 };
    mock.timers.enable({ apis: ['setInterval'] });
    const maintenance = new Maintenance(database, config, { warn });
    maintenance.start();
    mock.timers.tick(60_000);
    mock.timers.reset();
  });
  await ended;
  t.same(said, [
    'Maintenance could not remove the data of deleted accounts. Retrying in a minute.',
    ...jobNames.map((name) => `Maintenance could not ${name}. Retrying in an hour.`),
    'Maintenance could not finish. Retrying in an hour.',
  ]);
});

/** Runs a statement in a transaction that stays open until the returned function is called. */
async function openTransaction(db: Db, statement: ReturnType<typeof sql>): Promise<() => Promise<void>> {
  let end: () => void = () => {};
  let done: Promise<unknown> = Promise.resolve();
  await new Promise<void>((resolve, reject) => {
    done = db.transaction(async (tx) => {
      await tx.execute(statement);
      resolve();
      await new Promise<void>((ended) => {
        end = ended;
      });
    });
    done.catch(reject);
  });
  return async () => {
    end();
    await done;
  };
}

t.test('postgres: if a job fails, the log names it, and the other jobs still run', async (t) => {
  const { database, db, url } = await open(t, 'postgres');
  const said: string[] = [];
  const warn = ({ err }: { err?: Error }, message: string) => said.push(`${message} ${err?.message}`);
  const maintenance = new Maintenance(database, { databaseDirectUrl: url, requestLogDays: 5 }, { warn });
  const account = await newAccount(db);
  await pastDays(db, account, 8);
  const tables = ['idempotency_keys', 'sessions', 'account_events'];
  for (const table of tables) await fill(db, table, 3, account);
  await db.execute(sql`update idempotency_keys set created_at = now() - interval '2 days'`);
  await db.execute(sql`update sessions set last_seen_at = now() - interval '8 days'`);
  await db.execute(sql`update account_events set at = now() - interval '366 days'`);
  // The first job fails, and so does a later one.
  await db.execute(sql`alter function ledger_make_partitions(int) rename to hidden`);
  await db.execute(sql`alter table sessions rename column last_seen_at to hidden`);
  t.equal(await maintenance.run(), true);
  t.match(said, [
    /^Maintenance could not create ledger partitions for upcoming days\. Retrying in an hour\..*ledger_make_partitions/s,
    /^Maintenance could not delete ended sessions\. Retrying in an hour\..*last_seen_at/s,
  ]);
  t.equal(said.length, 2);
  t.equal((await days(db))[0], -4, 'old days are dropped');
  t.match(await rowsByTable(db, account), { idempotency_keys: 0, sessions: 3, account_events: 0 });
  await db.execute(sql`alter function hidden(int) rename to ledger_make_partitions`);
  await db.execute(sql`alter table sessions rename column hidden to last_seen_at`);
  await maintenance.run();
  t.equal(said.length, 2, 'no job fails any more');
  t.match(await rowsByTable(db, account), { sessions: 0 });
});

t.test('postgres: dropping a day does not block writers or lose their charges', async (t) => {
  const { db, maintainer, ledger } = await open(t, 'postgres');
  const accounts = await Promise.all(Array.from({ length: 8 }, () => newAccount(db)));
  await pastDays(db, await newAccount(db), 12);
  let isOver = false;
  // Stops the writers even if the test fails early.
  t.teardown(() => {
    isOver = true;
  });
  const times: number[] = [];
  const written: string[] = [];
  const writeMore = async (what: string) => {
    const before = written.length;
    await eventually(what, async () => written.length > before + 50);
  };
  const writers = accounts.map(async (accountId) => {
    while (!isOver) {
      const startedAt = performance.now();
      const charge = { accountId, keyId: null, endpoint: 'POST /x', meter: 'chat' as const, units: 1 };
      const admission = await ledger.admit(charge);
      await ledger.finalize(admission, outcome);
      times.push(performance.now() - startedAt);
      written.push(admission.id);
      await delay(1);
    }
  });
  await writeMore('writers charge before maintenance');
  // Dropping the day has to wait for this reader, but must not make writers wait.
  const endReader = await openTransaction(db, sql`select count(*) from requests`);
  const maintenance = maintainer(5).run();
  await eventually('maintenance waits for the reader', () => isDetaching(db));
  await writeMore('writers charge while maintenance waits');
  t.equal((await days(db))[0], -13, 'the reader blocks dropping the oldest day');
  await endReader();
  t.equal(await maintenance, true);
  await writeMore('writers charge after maintenance');
  isOver = true;
  await Promise.all(writers);
  t.same(await days(db), range(-4, 7));
  t.ok(
    Math.max(...times) < 3500,
    `the slowest of ${times.length} charges took ${Math.round(Math.max(...times))} ms`,
  );
  t.equal(
    await count(db, sql`requests where day = ledger_day(ledger_now()) and meter = 'chat' and model = 'm'`),
    written.length,
  );
  t.same((await audit(db)).differences, []);
});

t.test('postgres: if a process dies while dropping a day, later maintenance cleans up', async (t) => {
  const { db, maintainer } = await open(t, 'postgres');
  await pastDays(db, await newAccount(db), 8);
  const endReader = await openTransaction(db, sql`select count(*) from requests`);
  const dying = maintainer(5).run();
  const outcome = t.rejects(dying);
  await eventually('the day is partly detached', () => isDetaching(db));
  await db.execute(
    sql`select pg_terminate_backend(pid) from pg_stat_activity
        where datname = current_database() and query like '%concurrently%' and pid <> pg_backend_pid()`,
  );
  await outcome;
  await endReader();
  // Another process died between detaching and dropping.
  const [oldest] = await rowsOf<{ name: string }>(
    db,
    sql`select relname as name from pg_class where relname ~ '^requests_[0-9]{8}$' and relkind = 'r' order by 1 offset 1 limit 1`,
  );
  t.same((await audit(db)).differences, [], 'the audit ignores a partly detached day');
  // A new day also has to be created.
  await shiftClock(db, '1 day');
  await maintainer(5).run();
  t.same(await days(db), range(-4, 7));
  await db.execute(sql.raw(`create table ${oldest?.name} (like requests)`));
  await maintainer(5).run();
  t.same(await days(db), range(-4, 7));
});

t.test('postgres: an account that cannot be purged does not stop the purge of others', async (t) => {
  const { db } = await open(t, 'postgres');
  const [broken, other] = [await newAccount(db), await newAccount(db)];
  for (const id of [broken, other]) await fill(db, 'account_events', 3, id);
  await deleted(db, broken, '1 day');
  await deleted(db, other, '1 hour');
  // The error of a statement that times out.
  await db.execute(sql`
    create function refuse() returns trigger language plpgsql as $$
    begin raise exception 'This row stays.' using errcode = '57014'; end $$`);
  await db.execute(
    sql.raw(`create trigger refuse before delete on account_events for each row
             when (old.account_id = '${broken}') execute function refuse()`),
  );
  await t.rejects(purgeDeletedAccounts(db), 'the purge reports the failure');
  t.equal(await count(db, sql`accounts where id = ${other}`), 0);
  t.equal(await count(db, sql`accounts where id = ${broken}`), 1);
});

t.test('postgres: the purge skips locked rows, and removes them on the next run', async (t) => {
  const { db } = await open(t, 'postgres');
  const account = await newAccount(db);
  await fill(db, 'conversations', 10, account);
  await fill(db, 'messages', 10, account);
  await deleted(db, account, '11 minutes');
  const [one] = await rowsOf<{ id: string }>(db, sql`select id from conversations limit 1`);
  const release = await openTransaction(db, sql`select from conversations where id = ${one?.id} for update`);
  const hasEnded = purgeDeletedAccounts(db).then(() => true);
  t.ok(await Promise.race([hasEnded, delay(20_000, false, { ref: false })]));
  t.match(await rowsByTable(db, account), { conversations: 1, messages: 0 });
  t.equal(
    await count(db, sql`accounts where id = ${account}`),
    1,
    'the account is not removed before its rows',
  );
  await release();
  await purgeDeletedAccounts(db);
  t.equal(await count(db, sql`conversations where account_id = ${account}`), 0);
  t.equal(await count(db, sql`accounts where id = ${account}`), 0);
});
