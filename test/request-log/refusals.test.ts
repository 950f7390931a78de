import { sql } from 'drizzle-orm';
import t from 'tap';
import { v7 as uuidv7 } from 'uuid';
import { type Database, openDatabase, rowsOf } from '../../src/database/client.ts';
import { MAX_REFUSALS, Refusals } from '../../src/request-log/refusals.ts';
import { WEB_KEY } from '../../src/store/usage-history.ts';
import { shiftClock } from '../support/clock.ts';
import { databaseKinds, freshDatabase } from '../support/service.ts';
import { eventually } from '../support/upstream/engine.ts';

async function newAccount({ db }: Database): Promise<string> {
  const id = uuidv7();
  await db.execute(
    sql`insert into accounts values (${id}, ${id}, ${id}, 'x', 'free', 'monthly', now(), now(), null)`,
  );
  return id;
}

type Row = { key_id: string; code: string; status: number; count: number };
const rowsFor = ({ db }: Database, account: string) =>
  rowsOf<Row>(
    db,
    sql`select key_id, code, status, count from refusals where account_id = ${account} order by minute, code, key_id`,
  );

for (const kind of databaseKinds) {
  t.test(kind, async (t) => {
    const fresh = await freshDatabase(kind);
    const { DATABASE_URL: url, DATA_DIR: dataDir } = fresh.env;
    const database = await openDatabase(url ? { url } : { dataDir: String(dataDir) });
    t.teardown(async () => {
      await database.close();
      await fresh.drop();
    });
    // A frozen clock keeps the minute from ending during the tests.
    await database.db.execute(
      sql.raw(`create or replace function ledger_now() returns timestamptz language sql volatile
               as $$ select timestamptz '2026-11-20T12:30:15Z' $$`),
    );
    const dropped: unknown[] = [];
    const log = { debug: (details: object) => void dropped.push(details) };
    const newRefusals = () => new Refusals(database.db, log);
    const spent = { code: 'quotaExceeded', status: 429 };

    await t.test('each key and code has one row, and later counts are added to it', async (t) => {
      const account = await newAccount(database);
      const keyId = uuidv7();
      const refusals = newRefusals();
      for (let n = 0; n < 5; n += 1) refusals.count({ accountId: account, keyId, ...spent });
      refusals.count({ accountId: account, keyId: null, ...spent });
      refusals.count({ accountId: account, keyId, code: 'insufficientScope', status: 403 });
      await refusals.flush();
      refusals.count({ accountId: account, keyId, ...spent });
      await refusals.flush();
      await refusals.flush();
      t.same(await rowsFor(database, account), [
        { key_id: keyId, code: 'insufficientScope', status: 403, count: 1 },
        { key_id: WEB_KEY, ...spent, count: 1 },
        { key_id: keyId, ...spent, count: 6 },
      ]);
    });

    await t.test('counts are written within seconds, and on stop', async (t) => {
      const account = await newAccount(database);
      const refusals = newRefusals();
      refusals.start();
      refusals.count({ accountId: account, keyId: null, ...spent });
      await eventually('the count is written', async () => (await rowsFor(database, account)).length > 0);
      t.match(await rowsFor(database, account), [{ count: 1 }]);
      refusals.count({ accountId: account, keyId: null, ...spent });
      await refusals.stop();
      t.match(await rowsFor(database, account), [{ count: 2 }]);
    });

    await t.test(
      'a deleted or unknown account gets no row, and other accounts are still counted',
      async (t) => {
        const [gone, other] = [await newAccount(database), await newAccount(database)];
        await database.db.execute(sql`update accounts set deleted_at = now() where id = ${gone}`);
        const refusals = newRefusals();
        for (const accountId of [gone, uuidv7(), other]) refusals.count({ accountId, keyId: null, ...spent });
        await refusals.flush();
        t.same(await rowsFor(database, gone), []);
        t.match(await rowsFor(database, other), [{ count: 1 }]);
      },
    );

    await t.test('memory is bounded: at the row limit, only existing rows are counted', async (t) => {
      const account = await newAccount(database);
      const refusals = newRefusals();
      const keys = Array.from({ length: MAX_REFUSALS + 500 }, () => uuidv7());
      for (const keyId of keys) refusals.count({ accountId: account, keyId, ...spent });
      refusals.count({ accountId: account, keyId: String(keys[0]), ...spent });
      await refusals.flush();
      const rows = await rowsFor(database, account);
      t.equal(rows.length, MAX_REFUSALS);
      t.equal(rows.find(({ key_id: keyId }) => keyId === keys[0])?.count, 2);
    });

    await t.test('counts that cannot be written are dropped without an error', async (t) => {
      const account = await newAccount(database);
      const refusals = newRefusals();
      await database.db.execute(sql`alter table refusals rename to refusals_gone`);
      refusals.count({ accountId: account, keyId: null, ...spent });
      await refusals.flush();
      await database.db.execute(sql`alter table refusals_gone rename to refusals`);
      t.match(dropped, [{ rows: 1 }]);
      refusals.count({ accountId: account, keyId: null, ...spent });
      await refusals.flush();
      t.match(await rowsFor(database, account), [{ count: 1 }]);
    });

    await t.test(
      'several processes count the same accounts concurrently without errors or lost counts',
      async (t) => {
        const accounts = await Promise.all(Array.from({ length: 20 }, () => newAccount(database)));
        dropped.length = 0;
        await Promise.all(
          Array.from({ length: 6 }, async (_, process) => {
            const refusals = newRefusals();
            for (let round = 0; round < 10; round += 1) {
              // Opposite orders, which could cause deadlocks.
              for (const accountId of process % 2 ? accounts : accounts.toReversed())
                refusals.count({ accountId, keyId: null, ...spent });
              await refusals.flush();
            }
          }),
        );
        t.same(dropped, []);
        for (const account of accounts) t.match(await rowsFor(database, account), [{ count: 60 }]);
      },
    );
    await shiftClock(database.db, '0 day');
  });
}
