/** `parley export` and `parley import`: from embedded to Postgres and back, with a kill midway. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { sql } from 'drizzle-orm';
import t, { type Test } from 'tap';
import { loadConfig } from '../../src/config.ts';
import { type Db, openDatabase, rowsOf } from '../../src/database/client.ts';
import { type Service, startService } from '../../src/service.ts';
import { cookieOf } from '../support/dashboard.ts';
import { freshPostgresDatabase, templatePostgres } from '../support/databases.ts';
import { Client, type OpenApi } from '../support/http.ts';
import { builtProgram } from '../support/loader.ts';
import { freshDatabase } from '../support/service.ts';
import { eventually } from '../support/upstream/engine.ts';

type Env = Record<string, string>;

const CHARGES = Number(process.env.TRANSFER_CHARGES ?? 20_000);

const start = (env: Env, ...args: string[]): ChildProcess =>
  spawn(process.execPath, [builtProgram('commands/parley'), ...args], {
    env: { PATH: process.env.PATH, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });

async function parley(
  env: Env,
  ...args: string[]
): Promise<{ code: number; stdout: string; stderr: string }> {
  const child = start(env, ...args);
  const [[code], stdout, stderr] = await Promise.all([
    once(child, 'exit'),
    text(child.stdout as NonNullable<typeof child.stdout>),
    text(child.stderr as NonNullable<typeof child.stderr>),
  ]);
  return { code, stdout, stderr };
}

const serve = (env: Env): Promise<Service> =>
  startService(loadConfig({ PORT: '0', LOG_LEVEL: 'silent', AUTH_ATTEMPTS_PER_MINUTE: '1000', ...env }));

const clientOf = ({ app, port }: Service): Client =>
  new Client(`http://127.0.0.1:${port}`, app.swagger() as unknown as OpenApi);

const ada = { email: 'ada@example.com', password: 'correct horse battery' };

/** Creates an account with a key, a conversation, and charges on two days. */
async function fill(env: Env): Promise<{ key: string; cookie: string }> {
  const service = await serve(env);
  const client = clientOf(service);
  const signedUp = await client.post('/auth/signup', ada);
  const cookie = cookieOf(signedUp);
  const { body } = await client.post('/keys', { name: 'a program', scopes: ['chat', 'usage'] }, { cookie });
  await client.post('/chat', { message: 'Was macht „ein Schlüssel“ 🔑?\n\t\\x' }, { key: body.key });
  await service.database.db.execute(sql`
    with days as (select ledger_day(ledger_now()) - n % 2 as day, n from generate_series(1, ${CHARGES}::int) as n),
    charged as (
      insert into requests (account_id, day, id, endpoint, meter, units, state, process, admitted_at, settled_at, status)
      select a.id, day, gen_random_uuid(), 'chat', 'chat', 1, 'final', gen_random_uuid(), now(), now(), 200
      from accounts a, days returning account_id, day)
    insert into usage_counters (account_id, day, meter, used)
    select account_id, day, 'chat', count(*) from charged group by account_id, day
    on conflict (account_id, day, meter) do update set used = usage_counters.used + excluded.used`);
  await service.stop();
  return { key: body.key, cookie };
}

/** The data that the owner sees. */
async function seen(t: Test, env: Env, { cookie, key }: { key: string; cookie: string }) {
  const service = await serve(env);
  try {
    const client = clientOf(service);
    const audit = await parley(env, 'audit', '--json').then(({ stdout }) => JSON.parse(stdout));
    t.strictSame(audit.differences, []);
    const answers = await Promise.all([
      client.get('/usage', { key }),
      client.get('/account', { cookie }),
      client.get('/conversations', { cookie }),
      client.get('/requests?limit=50', { cookie }),
      client.get('/events', { cookie }),
      client.get('/sessions', { cookie }),
    ]);
    t.strictSame(
      answers.map(({ status }) => status),
      answers.map(() => 200),
    );
    return answers.map(({ body }) => body);
  } finally {
    await service.stop();
  }
}

t.test('a transfer from the embedded database to Postgres and back preserves all data', async (t) => {
  const first = await freshDatabase('embedded');
  t.teardown(first.drop);
  const empty = await templatePostgres(async () => {}, 'parley_nothing');
  const server = await freshPostgresDatabase(empty);
  t.teardown(server.drop);
  const owner = await fill(first.env);
  const before = await seen(t, first.env, owner);
  const onServer = { DATABASE_URL: server.url };

  /** The transaction that last wrote each account on the server. */
  const writers = (db: Db) => rowsOf(db, sql`select id, xmin::text as xmin from accounts order by id`);
  let copied: unknown[] = [];

  await t.test('a partial copy left by a killed transfer cannot be used', async (t) => {
    const child = start(first.env, 'export', server.url);
    const { close, db } = await openDatabase({ url: server.url });
    const count = async (table: string) => {
      const rows = await db.execute(sql`select count(*)::int as count from ${sql.identifier(table)}`);
      return (rows as unknown as { count: number }[])[0]?.count ?? 0;
    };
    await eventually(
      'the first charges are copied',
      async () => (await count('requests').catch(() => 0)) > 0,
    );
    child.kill('SIGKILL');
    await once(child, 'exit');
    t.ok((await count('requests')) < CHARGES, 'the transfer was incomplete');
    copied = await writers(db);
    t.ok(copied.length > 0, 'the transfer had started');
    await close();
    await t.rejects(serve(onServer), { message: /unfinished/ });
    const other = await freshDatabase('embedded');
    t.teardown(other.drop);
    t.match(await parley(other.env, 'export', server.url), {
      code: 1,
      stderr: /contains an unfinished copy of/,
    });
  });

  const exported = await parley(first.env, 'export', server.url, '--json');
  t.match(exported, { code: 0 }, exported.stderr);
  const { seconds, tables } = JSON.parse(exported.stdout);
  t.match(
    tables.find(({ table }: { table: string }) => table === 'requests'),
    { rows: CHARGES + 1 },
  );
  t.comment(`${CHARGES} charges to Postgres: ${seconds.toFixed(1)} s`);
  const target = await openDatabase({ url: server.url });
  t.strictSame(await writers(target.db), copied, 'the killed transfer was continued, not restarted');
  await target.close();
  t.strictSame(await seen(t, onServer, owner), before, 'keys, sessions, history, and totals are equal');

  const folder = join(t.testdir(), 'back');
  const back = await parley({ DATA_DIR: folder }, 'import', server.url, '--json');
  t.match(back, { code: 0 }, back.stderr);
  t.comment(`${CHARGES} charges back: ${JSON.parse(back.stdout).seconds.toFixed(1)} s`);
  t.strictSame(await seen(t, { DATA_DIR: folder }, owner), before);

  t.match(await parley(first.env, 'export', server.url), { code: 1, stderr: /is not empty/ });
});

t.test('export rejects a database that is in use', async (t) => {
  const [embedded, postgres] = await Promise.all([freshDatabase('embedded'), freshDatabase('postgres')]);
  t.teardown(async () => {
    await embedded.drop();
    await postgres.drop();
  });
  const services = await Promise.all([serve(embedded.env), serve(postgres.env)]);
  const target = join(t.testdir(), 'copy');
  t.match(await parley(embedded.env, 'export', target), {
    code: 1,
    stderr: /\S is in use by another process\. Stop that process, and run the command again\./,
  });
  t.match(await parley(postgres.env, 'export', target), { code: 1, stderr: /A service is using .* Stop it/ });
  const unparsable = 'postgres://user:pa/ss@localhost:5432/parley';
  t.match(await parley(embedded.env, 'export', unparsable), {
    code: 1,
    stderr: /^(?!.*pa.ss).*not a valid Postgres URL/,
  });
  await Promise.all(services.map((service) => service.stop()));
  t.match(await parley(postgres.env, 'export', target), { code: 0 });
});
