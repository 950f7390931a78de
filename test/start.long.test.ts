// The process: its output, its exit codes, and the data that survives a crash.
import { chmodSync, mkdirSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import postgres from 'postgres';
import t from 'tap';
import { sharedPostgres } from './support/databases.ts';
import { Client, type OpenApi } from './support/http.ts';
import { postgresUrl } from './support/postgres.ts';
import { failToStart, startProcess } from './support/process.ts';
import { freshDatabase } from './support/service.ts';

const clientOf = async (origin: string) =>
  new Client(origin, (await (await fetch(`${origin}/openapi.json`)).json()) as OpenApi);

t.test('startup prints the database and the engine, and SIGINT and SIGTERM exit with 0', async (t) => {
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    const database = await freshDatabase('embedded');
    const service = await startProcess(t, database.env);
    t.match(service.output(), /embedded Postgres [\d.]+ in .*a power failure can lose data/);
    t.match(service.output(), /built-in/);
    t.match(await service.end(signal), { code: 0 });
    await database.drop();
  }
});

t.test('the account, session, key, and usage survive kill -9', async (t) => {
  const database = await freshDatabase('embedded');
  const first = await startProcess(t, database.env);
  const client = await clientOf(first.origin);
  const owner = await client.signUp();
  const { key } = await client.createKey(owner);
  t.equal((await client.post('/chat', { message: 'Hello' }, { key })).status, 200);
  await first.end('SIGKILL');

  const second = await startProcess(t, database.env);
  const again = await clientOf(second.origin);
  t.equal((await again.get('/usage', { key })).body.used.chat, 1);
  t.equal((await again.get('/keys', { cookie: owner.cookie })).body.data.length, 1);
  t.equal((await again.post('/auth/login', { email: owner.email, password: owner.password })).status, 200);
  await second.end();
  await database.drop();
});

t.test('a second process on the same data folder exits with 1 and prints one line', async (t) => {
  const database = await freshDatabase('embedded');
  const first = await startProcess(t, database.env);
  const { code, output } = await failToStart(t, database.env);
  t.equal(code, 1);
  t.match(output, /^DATA_DIR .* is in use by another process\. .*\n$/);
  await first.end();
  await database.drop();
});

t.test('a startup error that the operator can fix prints one line with the remedy', async (t) => {
  const taken = createServer();
  await new Promise<void>((resolve) => taken.listen(0, '127.0.0.1', resolve));
  const { port } = taken.address() as { port: number };
  const database = await freshDatabase('embedded');
  const cases: [Record<string, string>, RegExp][] = [
    [{ ...database.env, PORT: String(port) }, /is in use by another process\. .*set PORT/],
    [{ PORT: 'many' }, /^PORT must be a whole number/],
    [{ DATABASE_URL: 'postgres://x:secret@127.0.0.1:9/y' }, /^(?!.*secret).*cannot be reached/],
  ];
  if (process.getuid?.() !== 0) {
    const closed = join(t.testdir(), 'closed');
    mkdirSync(closed);
    chmodSync(closed, 0o500);
    cases.push([{ DATA_DIR: join(closed, 'data') }, /permission denied/]);
  }
  for (const [env, line] of cases) {
    const { code, output } = await failToStart(t, env);
    t.equal(code, 1);
    t.match(output, line);
    t.equal(output.trim().split('\n').length, 1, output);
  }
  taken.close();
  await database.drop();
});

t.test(
  'postgres: two processes that start together on an empty database both serve, and each migration runs once',
  async (t) => {
    const { port } = await sharedPostgres();
    const name = `start_${Date.now()}`;
    const admin = postgres(postgresUrl(port, 'postgres'), { max: 1, onnotice: () => {} });
    await admin`create database ${admin(name)}`;
    const url = postgresUrl(port, name);
    const both = await Promise.all([1, 2].map(() => startProcess(t, { DATABASE_URL: url })));
    for (const { origin } of both) t.equal((await fetch(`${origin}/readyz`)).status, 200);

    const [one, other] = await Promise.all(both.map(({ origin }) => clientOf(origin)));
    const owner = await one?.signUp();
    t.equal(
      (await other?.get('/account', { cookie: owner?.cookie ?? '' }))?.status,
      200,
      'each process accepts sessions from the other',
    );

    const sql = postgres(url, { max: 1 });
    const applied =
      await sql`select hash, count(*)::int as times from drizzle.__drizzle_migrations group by 1`;
    t.ok(applied.length > 0 && applied.every(({ times }) => times === 1));
    await sql.end();
    for (const service of both) t.match(await service.end(), { code: 0 });
    await admin`drop database ${admin(name)} with (force)`;
    await admin.end();
  },
);
