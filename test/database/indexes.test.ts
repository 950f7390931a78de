import { sql } from 'drizzle-orm';
import t, { type Test } from 'tap';
import { v7 as uuidv7 } from 'uuid';
import { type Db, openDatabase, rowsOf } from '../../src/database/client.ts';
import { buildIndexes, missingIndexes } from '../../src/database/indexes.ts';
import { Maintenance } from '../../src/jobs/maintenance.ts';
import { type DatabaseKind, databaseKinds, freshDatabase } from '../support/service.ts';
import { eventually } from '../support/upstream/engine.ts';

async function open(t: Test, kind: DatabaseKind) {
  const fresh = await freshDatabase(kind);
  const { DATABASE_URL: url, DATA_DIR: dataDir } = fresh.env;
  const database = await openDatabase(url ? { url } : { dataDir: String(dataDir) });
  t.teardown(async () => {
    await database.close();
    await fresh.drop();
  });
  const maintainer = new Maintenance(
    database,
    { databaseDirectUrl: url, requestLogDays: 90 },
    { warn: () => {} },
  );
  return { database, db: database.db, maintainer };
}

/** Drops indexes, as in a database created before they were declared. */
async function forget(db: Db): Promise<void> {
  for (const statement of [
    'drop index messages_in_order',
    'drop index conversations_of_key',
    'drop index requests_log_failed',
    'create index requests_log_failed on only requests (account_id, day, admitted_at, id) where status >= 400',
  ])
    await db.execute(sql.raw(statement));
}

const partitions = async (db: Db) =>
  (
    await rowsOf<{ name: string }>(
      db,
      sql`select relname as name from pg_class where relname ~ '^requests_[0-9]{8}$' and relkind = 'r' order by 1 desc`,
    )
  ).map(({ name }) => name);

for (const kind of databaseKinds) {
  t.test(kind, async (t) => {
    const { db, maintainer } = await open(t, kind);

    await t.test('a migrated database has every index that the schema declares', async (t) => {
      t.same(await missingIndexes(db), []);
    });

    await t.test(
      'maintenance builds the missing indexes of an older database once, for every day',
      async (t) => {
        await forget(db);
        const names = await partitions(db);
        t.ok(names.length >= 9);
        const missing = [
          ...names.map((name) => `${name}_log_failed`),
          'messages_in_order',
          'conversations_of_key',
        ];
        t.same(
          (await missingIndexes(db)).map(({ built }) => built),
          missing,
        );
        await maintainer.run();
        t.same(await missingIndexes(db), []);
        const [{ valid } = {}] = await rowsOf<{ valid: boolean }>(
          db,
          sql`select indisvalid as valid from pg_index where indexrelid = 'requests_log_failed'::regclass`,
        );
        t.equal(valid, true, 'the index is valid for all days');
        const definitions = await rowsOf<{ definition: string }>(
          db,
          sql`select indexdef as definition from pg_indexes where indexname = 'conversations_of_key'`,
        );
        t.match(definitions, [
          { definition: /\(account_id, key_id, updated_at DESC, id DESC\) WHERE \(key_id IS NOT NULL\)/ },
        ]);
        const built = () =>
          rowsOf(
            db,
            sql`select relname, relfilenode::text from pg_class where relname in ${missing} and relkind = 'i' order by 1`,
          );
        const before = await built();
        t.equal(before.length, missing.length);
        await maintainer.run();
        t.same(await built(), before, 'the next maintenance rebuilds none');
      },
    );
  });
}

t.test('postgres: building an index does not block writers', async (t) => {
  const { database, db } = await open(t, 'postgres');
  await forget(db);
  const insert = (tx: Db) =>
    tx.execute(sql`insert into messages (account_id, conversation_id, id, role, content, created_at)
                   values (${uuidv7()}, ${uuidv7()}, ${uuidv7()}, 'user', 'Hello', now())`);
  let release: () => void = () => {};
  const held = new Promise<void>((resolve) => {
    release = resolve;
  });
  let wrote: () => void = () => {};
  const hasWritten = new Promise<void>((resolve) => {
    wrote = resolve;
  });
  const slowWriter = db.transaction(async (tx) => {
    await insert(tx);
    wrote();
    await held;
  });
  await hasWritten;
  let isBuilt = false;
  const building = buildIndexes(db, database.kind).then(() => {
    isBuilt = true;
  });
  const isUnderWay = async () =>
    (
      await rowsOf(
        db,
        sql`select from pg_stat_activity where datname = current_database()
            and query like 'create index concurrently%messages%' and wait_event_type = 'Lock'`,
      )
    ).length > 0;
  await eventually('the build waits for an earlier transaction', isUnderWay);
  await insert(db);
  t.equal(isBuilt, false, 'a write succeeds during the build');
  release();
  await slowWriter;
  await building;
  t.same(await missingIndexes(db), []);
});

t.test('postgres: an invalid index left by a killed process is rebuilt', async (t) => {
  const { database, db } = await open(t, 'postgres');
  await forget(db);
  const [day] = await partitions(db);
  await db.execute(sql.raw('create index messages_in_order on messages (account_id)'));
  await db.execute(sql.raw(`create index ${day}_log_failed on ${day} (account_id)`));
  await db.execute(
    sql`update pg_index set indisvalid = false
        where indexrelid in ('messages_in_order'::regclass, ${`${day}_log_failed`}::regclass)`,
  );
  t.equal((await missingIndexes(db)).filter(({ is_broken: isBroken }) => isBroken).length, 2);
  await buildIndexes(db, database.kind);
  t.same(await missingIndexes(db), []);
  const definitions = await rowsOf<{ definition: string }>(
    db,
    sql`select indexdef as definition from pg_indexes where indexname = 'messages_in_order'`,
  );
  t.match(definitions, [{ definition: /\(account_id, conversation_id, "position", id\)/ }]);
});
