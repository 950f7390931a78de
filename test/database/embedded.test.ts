// The thread of the embedded database: effects of slow statements and crashes on the rest of the process.
import { cpSync, rmSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { Worker } from 'node:worker_threads';
import { sql } from 'drizzle-orm';
import t from 'tap';
import { isUnavailable, mayHaveTakenEffect, openDatabase, rowsOf } from '../../src/database/client.ts';
import { Connection } from '../../src/database/connection.ts';
import { startEmbeddedPostgres } from '../../src/database/embedded.ts';
import { projectRoot } from '../../src/project.ts';
import { freshDatabase } from '../support/service.ts';

let thread: Worker | undefined;
process.on('worker', (worker) => {
  thread = worker;
});
const { drop, env } = await freshDatabase('embedded');
const database = await openDatabase({ dataDir: String(env.DATA_DIR) });
const { db } = database;
await db.execute(sql`create table t (a int)`);
t.beforeEach(() => db.execute(sql`truncate t`));
t.teardown(async () => {
  await database.close();
  await drop();
});

const crash = async () => void (await thread?.terminate());

t.test('a slow statement does not block the event loop', async (t) => {
  let isRunning = true;
  const slow = database
    .run<{ count: string }>('select count(*) from generate_series(1, 1000000)', [])
    .finally(() => {
      isRunning = false;
    });
  let turns = 0;
  while (isRunning) {
    await nextTurn();
    turns += 1;
  }
  t.equal((await slow)[0]?.count, '1000000');
  t.ok(turns > 100, `${turns} turns`);
});

t.test('after a crash, statements in flight fail, and committed data is still there', async (t) => {
  await db.execute(sql`insert into t values (1)`);
  await t.rejects(
    db.transaction(async (tx) => {
      await tx.execute(sql`insert into t values (2)`);
      await crash();
      await tx.execute(sql`insert into t values (3)`);
    }),
  );
  t.same(await rowsOf(db, sql`select a from t`), [{ a: 1 }]);
});

t.test('a statement interrupted by a crash fails as unavailable, and may have taken effect', async (t) => {
  await database.run('select 1', []);
  const underWay = database.run('select count(*) from generate_series(1, 100000000)', []);
  underWay.catch(() => {});
  // Waits until the thread is running the statement.
  const busyMs = () => thread?.performance.eventLoopUtilization().active ?? 0;
  const before = busyMs();
  while (busyMs() < before + 100) await nextTurn();
  await crash();
  await t.rejects(underWay, { code: 'CONNECTION_CLOSED' });
  const error = await underWay.catch((error: unknown) => error);
  t.ok(isUnavailable(error) && mayHaveTakenEffect(error), String(error));
});

t.test('a failed transaction is rolled back', async (t) => {
  await t.rejects(
    db.transaction(async (tx) => {
      await tx.execute(sql`insert into t values (1)`);
      await tx.execute(sql`select 1 / 0`);
    }),
  );
  t.same(await rowsOf(db, sql`select a from t`), []);
});

t.test('notifications arrive before the result of the statement that sent them', async (t) => {
  const heard: string[] = [];
  await database.listen?.('news', {
    onPayload: (payload) => heard.push(payload),
    onGap: () => heard.push('gap'),
  });
  await database.run("select pg_notify('news', 'first')", []);
  t.same(heard, ['first']);
  await crash();
  await database.run('select 1', []).catch(() => {});
  await database.run("select pg_notify('news', 'second')", []);
  t.same(
    [...new Set(heard)],
    ['first', 'gap', 'second'],
    'notifications continue after a crash, which may have lost some',
  );
});

t.test('a new connection inherits no state from the previous one', async (t) => {
  const { drop, env } = await freshDatabase('embedded');
  const server = await startEmbeddedPostgres(String(env.DATA_DIR), () => {});
  t.teardown(async () => {
    await server.close();
    await drop();
  });
  const first = new Connection({ connect: server.connect });
  await first.run('create temporary table before (a int)');
  await first.run("set timezone = 'Asia/Tokyo'");
  await first.begin();
  await first.run('create table uncommitted (a int)');
  first.lose();
  const second = new Connection({ connect: server.connect });
  const [seen] = await second.run(
    "select to_regclass('before') as temporary, to_regclass('uncommitted') as uncommitted, current_setting('timezone') as zone",
  );
  t.match(seen, { temporary: null, uncommitted: null });
  t.not((seen as { zone: string }).zone, 'Asia/Tokyo');
  await second.end();
});

t.test(
  'if the first start is killed while copying the empty database, the next start completes it',
  async (t) => {
    const folder = t.testdir();
    cpSync(fileURLToPath(new URL('dist/new-database/files/', projectRoot)), folder, { recursive: true });
    rmSync(join(folder, 'PG_VERSION'));
    rmSync(join(folder, 'base/1'), { recursive: true });
    truncateSync(join(folder, 'global/pg_control'), 100);
    const server = await startEmbeddedPostgres(folder, () => {});
    t.teardown(server.close);
    const connection = new Connection({ connect: server.connect });
    t.same(await connection.run('select 1 as one'), [{ one: '1' }]);
    await connection.end();
  },
);
