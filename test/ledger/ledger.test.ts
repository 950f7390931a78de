// The ledger alone, on both databases. Other tests cover it through the API.
import { sql } from 'drizzle-orm';
import t from 'tap';
import { v7 as uuidv7 } from 'uuid';
import { type Database, openDatabase, rowsOf } from '../../src/database/client.ts';
import type { PlanCatalog } from '../../src/domain/plans.ts';
import { Ledger } from '../../src/ledger/ledger.ts';
import type { Charge } from '../../src/ledger/types.ts';
import { audit } from '../../src/store/ledger-audit.ts';
import { silentLog } from '../support/ledger.ts';
import { databaseKinds, freshDatabase } from '../support/service.ts';

const plan = {
  id: 'small',
  name: 'Small',
  currency: 'USD',
  monthly_price_cents: 0,
  yearly_price_cents: 0,
  limits: { chat: 10, images: null, search: 3 },
  requests_per_minute: 1000,
};
const plans: PlanCatalog = { plans: [plan], standard: plan, find: () => plan, of: () => plan };
const outcome = { model: 'm', inputTokens: 3, outputTokens: 4 };

async function newAccount(database: Database): Promise<string> {
  const id = uuidv7();
  await database.db.execute(
    sql`insert into accounts values (${id}, ${id}, ${id}, 'x', 'small', 'monthly', now(), now(), null)`,
  );
  return id;
}

const counter = async (database: Database, accountId: string, meter: string) => {
  const rows = await rowsOf<{ used: string }>(
    database.db,
    sql`select used::text from usage_counters where account_id = ${accountId} and meter = ${meter}`,
  );
  return rows.length === 0 ? undefined : Number(rows[0]?.used);
};

const admitted = <T>(results: PromiseSettledResult<T>[]) =>
  results.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []));

for (const kind of databaseKinds) {
  t.test(kind, async (t) => {
    const fresh = await freshDatabase(kind);
    const { DATABASE_URL: url, DATA_DIR: dataDir } = fresh.env;
    const database = await openDatabase(url ? { url } : { dataDir: String(dataDir) });
    const ledger = new Ledger(database, plans, silentLog);
    await ledger.start();
    t.teardown(async () => {
      await ledger.stop();
      await database.close();
      await fresh.drop();
    });
    const charge = (accountId: string, units = 1): Charge => ({
      accountId,
      keyId: null,
      endpoint: 'POST /x',
      meter: 'chat',
      units,
    });

    await t.test('concurrent charges are admitted exactly up to the limit', async (t) => {
      const account = await newAccount(database);
      const results = await Promise.allSettled(
        Array.from({ length: 100 }, () => ledger.admit(charge(account))),
      );
      t.equal(admitted(results).length, 10);
      t.equal(await counter(database, account, 'chat'), 10);
      t.ok(
        results.every((result) => result.status === 'fulfilled' || result.reason.code === 'quotaExceeded'),
      );
    });

    await t.test(
      'the units of a charge are admitted all or none, and a smaller charge after a refused one is admitted',
      async (t) => {
        const account = await newAccount(database);
        const sizes = [8, 3, 1, 5, 1, 1];
        const results = await Promise.allSettled(sizes.map((units) => ledger.admit(charge(account, units))));
        t.same(
          results.map(({ status }) => status === 'fulfilled'),
          [true, false, true, false, true, false],
        );
        t.equal(await counter(database, account, 'chat'), 10);
      },
    );

    await t.test('a refund returns the units only once', async (t) => {
      const account = await newAccount(database);
      const admission = await ledger.admit(charge(account, 4));
      const failure = { code: 'upstreamError', statusCode: 502 };
      await Promise.all([ledger.refund(admission, failure), ledger.refund(admission, failure)]);
      await ledger.refund(admission, failure);
      t.equal(await counter(database, account, 'chat'), 0);
      await t.rejects(ledger.finalize(admission, outcome), { code: 'serviceUnavailable' });
    });

    await t.test('a final charge cannot be refunded, and its tokens are added once', async (t) => {
      const account = await newAccount(database);
      const admission = await ledger.admit(charge(account));
      await ledger.finalize(admission);
      await ledger.complete(admission, outcome);
      await ledger.complete(admission, outcome);
      await ledger.refund(admission, { code: 'upstreamError', statusCode: 502 });
      t.equal(await counter(database, account, 'chat'), 1);
      t.equal(await counter(database, account, 'tokens'), 7);
    });

    await t.test(
      'charges of deleted or unknown accounts are refused without affecting others in the batch',
      async (t) => {
        const [living, gone] = [await newAccount(database), await newAccount(database)];
        await database.db.execute(sql`update accounts set deleted_at = now() where id = ${gone}`);
        const results = await Promise.allSettled(
          [gone, living, uuidv7(), living].map((id) => ledger.admit(charge(id))),
        );
        t.same(
          results.map(({ status }) => status),
          ['rejected', 'fulfilled', 'rejected', 'fulfilled'],
        );
        t.equal(await counter(database, gone, 'chat'), undefined);
      },
    );

    await t.test('text that Postgres cannot store does not fail the batch or its own turn', async (t) => {
      const accounts = await Promise.all(Array.from({ length: 5 }, () => newAccount(database)));
      const admissions = await Promise.all(accounts.map((id) => ledger.admit(charge(id))));
      const turn = (accountId: string, content: string) => ({
        accountId,
        keyId: null,
        conversationId: uuidv7(),
        isNew: true,
        title: content,
        question: { id: uuidv7(), content },
        answer: { id: uuidv7(), content, model: 'm', isStopped: false, finishReason: null },
      });
      await Promise.all(
        admissions.map((admission, index) =>
          ledger.finalize(admission, {
            ...outcome,
            turn: turn(admission.accountId, index === 2 ? 'a\u0000b\ud800' : 'fine'),
          }),
        ),
      );
      const rows = await rowsOf<{ count: number }>(
        database.db,
        sql`select count(*)::int as count from messages`,
      );
      t.equal(rows[0]?.count, 10);
    });

    await t.test('if the final write fails, the charge is refunded and nothing is delivered', async (t) => {
      await database.db.execute(sql`
        create function refuse() returns trigger language plpgsql as $$ begin raise sqlstate '53100'; end $$`);
      await database.db.execute(sql`
        create trigger full_disk before insert on messages execute function refuse()`);
      const account = await newAccount(database);
      const admission = await ledger.admit(charge(account));
      const turn = {
        accountId: account,
        keyId: null,
        conversationId: uuidv7(),
        isNew: true,
        title: 'x',
        question: { id: uuidv7(), content: 'x' },
        answer: { id: uuidv7(), content: 'x', model: 'm', isStopped: false, finishReason: null },
      };
      await t.rejects(ledger.finalize(admission, { ...outcome, turn }));
      t.equal(await counter(database, account, 'chat'), 0);
      await database.db.execute(sql`drop function refuse cascade`);
    });

    await t.test(
      'the sweep refunds open charges of processes with an expired lease, and of no others',
      async (t) => {
        const [dying, slow] = [await newAccount(database), await newAccount(database)];
        const other = new Ledger(database, plans, silentLog);
        await other.start();
        await other.admit(charge(dying, 3));
        const working = await ledger.admit(charge(slow, 2));
        await database.db.execute(
          sql`update leases set expires_at = now() - interval '1 second' where process = ${other.process}`,
        );
        await database.db.execute(sql`select ledger_sweep(100)`);
        t.equal(await counter(database, dying, 'chat'), 0);
        t.equal(await counter(database, slow, 'chat'), 2);
        await ledger.finalize(working, outcome);
        t.ok(
          await other.admit(charge(dying)),
          'a process that lost its lease acquires a new one before it charges',
        );
        await other.stop();
      },
    );

    await t.test('stopping the ledger refunds its open charges', async (t) => {
      const account = await newAccount(database);
      const other = new Ledger(database, plans, silentLog);
      await other.start();
      await other.admit(charge(account, 5));
      await other.stop();
      t.equal(await counter(database, account, 'chat'), 0);
    });

    await t.test('the audit reports a modified counter, and nothing else', async (t) => {
      t.same((await audit(database.db)).differences, []);
      const account = await newAccount(database);
      await ledger.finalize(await ledger.admit(charge(account)), outcome);
      await database.db.execute(
        sql`update usage_counters set used = 7 where account_id = ${account} and meter = 'chat'`,
      );
      t.match((await audit(database.db)).differences, [
        { accountId: account, meter: 'chat', charged: 1, used: 7 },
      ]);
    });
  });
}

t.test('postgres: one locked account neither delays nor fails 99 others', async (t) => {
  const fresh = await freshDatabase('postgres');
  const database = await openDatabase({ url: String(fresh.env.DATABASE_URL) });
  const ledger = new Ledger(database, plans, silentLog);
  await ledger.start();
  t.teardown(async () => {
    await ledger.stop();
    await database.close();
    await fresh.drop();
  });
  const accounts = await Promise.all(Array.from({ length: 100 }, () => newAccount(database)));
  const locked = String(accounts[50]);
  const charge = (accountId: string): Charge => ({
    accountId,
    keyId: null,
    endpoint: 'POST /x',
    meter: 'chat',
    units: 1,
  });
  await ledger.finalize(await ledger.admit(charge(locked)), outcome);
  const release = deferred();
  const holding = deferred();
  const lock = database.db.transaction(async (tx) => {
    await tx.execute(sql`select from usage_counters where account_id = ${locked} for update`);
    holding.resolve();
    await release.promise;
  });
  await holding.promise;
  const ended: string[] = [];
  const results = await Promise.allSettled(
    accounts.map(async (id) => {
      try {
        await ledger.finalize(await ledger.admit(charge(id)), outcome);
      } finally {
        ended.push(id);
      }
    }),
  ).finally(() => release.resolve());
  await lock;
  const others = results.filter((_, index) => accounts[index] !== locked);
  t.ok(others.every(({ status }) => status === 'fulfilled'));
  t.equal(ended.at(-1), locked, 'the locked account finishes last');
  t.match(results[50], { status: 'rejected', reason: { code: 'serviceUnavailable' } });
  t.same((await audit(database.db)).differences, []);
});

function deferred() {
  let resolve: () => void = () => {};
  const promise = new Promise<void>((settle) => {
    resolve = settle;
  });
  return { promise, resolve };
}
