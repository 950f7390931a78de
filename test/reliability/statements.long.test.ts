// Statements that time out, and Postgres without free connections: reliability test 78. Contract section 11.
import postgres from 'postgres';
import t, { type Test } from 'tap';
import { hasPgbouncer, startPgbouncer } from '../support/pgbouncer.ts';
import { failToStart } from '../support/process.ts';
import { startCluster } from '../support/replicas.ts';
import { freshDatabase } from '../support/service.ts';
import { eventually } from '../support/upstream/engine.ts';

const unavailable = { status: 503, body: { error: { code: 'serviceUnavailable' } } };

/** A fresh database, and a connection to it that the service does not use. */
async function start(t: Test) {
  const { drop, env } = await freshDatabase('postgres');
  const url = String(env.DATABASE_URL);
  const sql = postgres(url, { max: 2, onnotice: () => {} });
  t.teardown(async () => {
    await sql.end();
    await drop();
  });
  /** The number of connections of the service that wait for a lock. */
  const waiting = async () => {
    const [row] = await sql<{ count: number }[]>`
      select count(*)::int from pg_stat_activity
      where datname = current_database() and application_name like 'parley%' and wait_event_type = 'Lock'`;
    return row?.count ?? 0;
  };
  /** Does work while a table is locked. */
  const whileLocked = (table: string, work: () => Promise<void>) =>
    sql.begin(async (tx) => {
      await tx.unsafe(`lock table ${table} in access exclusive mode`);
      await work();
    });
  return { sql, url, waiting, whileLocked };
}

const ways = [
  ['Postgres itself', false],
  ['a transaction pooler', true],
] as const;

for (const [way, isPooled] of ways) {
  const skip = isPooled && !hasPgbouncer() && 'PgBouncer is not installed';
  t.test(`78: a statement that exceeds its timeout, through ${way}`, { skip }, async (t) => {
    const { url, waiting, whileLocked } = await start(t);
    const { client } = await startCluster(t, {
      count: 1,
      databaseUrl: isPooled ? await startPgbouncer(t, url) : url,
      env: isPooled ? { DATABASE_DIRECT_URL: url } : {},
    });
    const { cookie } = await client.signUp();
    const key = { name: 'Test key', scopes: ['chat'] };

    await t.test('outside a transaction: 503, and the statement is canceled on the server', () =>
      whileLocked('conversations', async () => {
        const answers = Array.from({ length: 12 }, () => client.get('/conversations', { cookie }));
        await eventually('statements are waiting for the lock', async () => (await waiting()) > 2);
        for (const answer of await Promise.all(answers)) t.match(answer, unavailable);
        t.equal(await waiting(), 0);
      }),
    );
    await t.test('in a transaction: 503, and the statement is canceled on the server', () =>
      whileLocked('api_keys', async () => {
        const answers = Array.from({ length: 3 }, () => client.post('/keys', key, { cookie }));
        await eventually('a statement is waiting for the lock', async () => (await waiting()) > 0);
        for (const answer of await Promise.all(answers)) t.match(answer, unavailable);
        t.equal(await waiting(), 0);
      }),
    );
    await t.test('the pool recovers', async (t) => {
      const answers = await Promise.all(
        Array.from({ length: 30 }, () => client.get('/conversations', { cookie })),
      );
      t.same([...new Set(answers.map(({ status }) => status))], [200]);
      t.equal((await client.post('/keys', key, { cookie })).status, 201);
    });
  });
}

t.test("78: migrations ignore the role's statement timeout", async (t) => {
  const { sql, url, whileLocked } = await start(t);
  await sql.unsafe(`create role hasty login superuser; alter role hasty set statement_timeout = '1s'`);
  t.teardown(() => sql`drop role hasty`.catch(() => {}));
  const hasty = url.replace('postgres://postgres@', 'postgres://hasty@');
  t.not(hasty, url);
  let started: Promise<unknown> = Promise.resolve();
  await whileLocked('drizzle.__drizzle_migrations', async () => {
    started = startCluster(t, { count: 1, databaseUrl: hasty });
    started.catch(() => {});
    const isWaiting = async () => {
      const [row] = await sql<{ count: number }[]>`
        select count(*)::int from pg_stat_activity
        where usename = 'hasty' and wait_event_type = 'Lock' and now() - query_start > interval '2 s'`;
      return (row?.count ?? 0) > 0;
    };
    await eventually('a migration has waited longer than the statement timeout of the role', isWaiting);
  });
  await t.resolves(started);
});

t.test('DATABASE_CONNECTIONS limits the connections of all kinds together', async (t) => {
  const { sql, url } = await start(t);
  const { client } = await startCluster(t, {
    count: 1,
    databaseUrl: url,
    env: { DATABASE_CONNECTIONS: '10' },
  });
  const owner = await client.signUp();
  const key = { name: 'Test key', scopes: ['chat'] };
  const statuses: number[] = [];
  const { key: raw } = await client.createKey(owner);
  await Promise.all(
    Array.from({ length: 120 }, async (_, n) => {
      const answer =
        n % 3 === 0
          ? await client.post('/chat', { message: 'Hi', store: false }, { key: raw })
          : n % 3 === 1
            ? await client.get('/conversations', { cookie: owner.cookie })
            : await client.post('/keys', key, { cookie: owner.cookie });
      statuses.push(answer.status);
    }),
  );
  t.notOk(statuses.includes(503), 'requests wait for a free connection instead of failing');
  const [row] = await sql<{ count: number }[]>`
    select count(*)::int from pg_stat_activity where datname = current_database() and application_name like 'parley%'`;
  t.ok(row && row.count > 5 && row.count <= 10, `${row?.count} connections`);
});

t.test('Postgres without free connections (53300)', async (t) => {
  const { sql, url } = await start(t);
  await sql.unsafe('create role limited login; grant postgres to limited');
  t.teardown(() => sql`drop role limited`.catch(() => {}));
  const limited = url.replace('postgres://postgres@', 'postgres://limited@');
  const allow = async (connections: number) => {
    await sql.unsafe(`alter role limited connection limit ${connections}`);
    await sql`select pg_terminate_backend(pid) from pg_stat_activity where usename = 'limited'`;
  };
  const hint = 'Postgres has no free connections for this process, which needs up to 20 (SQLSTATE 53300).';

  await t.test('at startup: the process exits with one line that says what to do', async (t) => {
    await allow(0);
    const { code, output } = await failToStart(t, { DATABASE_URL: limited });
    t.equal(code, 1);
    t.ok(output.startsWith(hint), output);
    t.match(output, /max_connections.+DATABASE_CONNECTIONS/);
    t.equal(output.trimEnd().split('\n').length, 1);
  });

  await t.test('at runtime: requests get 503, the log has one line, and the service recovers', async (t) => {
    await allow(-1);
    const { client, replicas } = await startCluster(t, { count: 1, databaseUrl: limited });
    const { cookie } = await client.signUp();
    await allow(0);
    await eventually('the service has lost its connections', async () => {
      const { status } = await client.get('/account', { cookie });
      return status === 503;
    });
    for (let n = 0; n < 10; n += 1) t.match(await client.get('/account', { cookie }), unavailable);
    const lines = replicas[0]?.log.split('\n').filter((line) => line.includes(hint)) ?? [];
    t.equal(lines.length, 1);
    await allow(-1);
    await eventually(
      'requests are served again',
      async () => (await client.get('/account', { cookie })).status === 200,
    );
  });
});
