import fs from 'node:fs';
import path from 'node:path';
import { PGlite } from '@electric-sql/pglite';
import postgres from 'postgres';
import t from 'tap';
import { freshPglite, freshPostgresDatabase, sharedPostgres, templatePostgres } from './databases.ts';

const quiet = { max: 1, onnotice: () => {} };

t.test('freshPostgresDatabase: copies of one template are isolated from each other', async (t) => {
  let migrations = 0;
  const template = await templatePostgres(async (url) => {
    migrations += 1;
    const sql = postgres(url, quiet);
    await sql`CREATE TABLE notes (text text)`;
    await sql.end();
  }, 'harness_template');
  t.equal(migrations, 1);
  const [one, other] = await Promise.all([freshPostgresDatabase(template), freshPostgresDatabase(template)]);
  const [a, b] = [postgres(one.url, quiet), postgres(other.url, quiet)];
  await a`INSERT INTO notes VALUES ('mine')`;
  t.same([...(await b`SELECT * FROM notes`)], []);
  await one.drop();
  await t.rejects(a`SELECT 1`, 'dropping a database closes its connections');
  await Promise.all([a.end({ timeout: 0 }), b.end()]);
  await other.drop();
});

t.test('templatePostgres: concurrent calls create the template once', async (t) => {
  let migrations = 0;
  const migrate = async () => {
    migrations += 1;
  };
  const names = await Promise.all([1, 2, 3].map(() => templatePostgres(migrate, 'harness_raced')));
  t.same(new Set(names), new Set(['harness_raced']));
  t.equal(migrations, 1);
});

t.test('templatePostgres: a template whose migration failed is created again', async (t) => {
  const name = 'harness_failed';
  await t.rejects(
    templatePostgres(async () => {
      throw new Error('migration broken');
    }, name),
    { message: 'migration broken' },
  );
  let migrations = 0;
  await templatePostgres(async () => {
    migrations += 1;
  }, name);
  t.equal(migrations, 1);
});

t.test('sharedPostgres: the server allows 200 connections and has the reported version', async (t) => {
  const { port, version } = await sharedPostgres();
  const sql = postgres(`postgres://postgres@127.0.0.1:${port}/postgres`, quiet);
  t.equal((await sql`SHOW max_connections`)[0]?.max_connections, '200');
  t.equal(Math.floor(Number((await sql`SHOW server_version_num`)[0]?.server_version_num) / 10_000), version);
  await sql.end();
});

t.test('freshPglite: copies of one template are isolated from each other', async (t) => {
  const cache = new URL('../../.tap/pglite-harness/', import.meta.url);
  t.teardown(() => fs.rmSync(cache, { recursive: true, force: true }));
  let migrations = 0;
  const migrate = async (dataDir: string) => {
    migrations += 1;
    const db = new PGlite(dataDir);
    await db.exec('CREATE TABLE notes (text text)');
    await db.close();
  };
  const one = await freshPglite(migrate, { cache });
  const other = await freshPglite(migrate, { cache });
  t.equal(migrations, 1);
  const [a, b] = [new PGlite(one.dataDir), new PGlite(other.dataDir)];
  await a.exec(`INSERT INTO notes VALUES ('mine')`);
  t.same((await b.query('SELECT * FROM notes')).rows, []);
  await Promise.all([a.close(), b.close()]);
  one.drop();
  other.drop();
  t.notOk(fs.existsSync(path.join(one.dataDir, 'PG_VERSION')));
});
