// Every previous schema, filled with data, migrates to the newest, even if killed halfway. Contract section 11.
import { once } from 'node:events';
import { copyFileSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { sql } from 'drizzle-orm';
import { migrate as applyMigrations } from 'drizzle-orm/postgres-js/migrator';
import t, { type Test } from 'tap';
import { loadConfig } from '../../src/config.ts';
import {
  type Database,
  type DatabaseLocation,
  type Db,
  openDatabase,
  rowsOf,
} from '../../src/database/client.ts';
import { migrate } from '../../src/database/migrate.ts';
import { projectRoot } from '../../src/project.ts';
import { startService } from '../../src/service.ts';
import { freshPostgresDatabase } from '../support/databases.ts';
import { columnsOf, fill, tablesOf } from '../support/fill.ts';
import { Client, type OpenApi } from '../support/http.ts';
import { failToStart, launch } from '../support/process.ts';
import { currentRun } from '../support/run-folder.ts';
import type { DatabaseKind } from '../support/service.ts';
import { eventually } from '../support/upstream/engine.ts';

const folder = fileURLToPath(new URL('drizzle', projectRoot));
const journal = JSON.parse(readFileSync(join(folder, 'meta/_journal.json'), 'utf8')) as {
  entries: { tag: string }[];
};
const newest = journal.entries.length - 1;
const ROWS = 50;

/** A folder with only the first migrations. */
function migrationsUpTo(t: Test, last: number): string {
  const old = t.testdir({ meta: {} });
  const entries = journal.entries.slice(0, last + 1);
  writeFileSync(join(old, 'meta/_journal.json'), JSON.stringify({ ...journal, entries }));
  for (const { tag } of entries) copyFileSync(join(folder, `${tag}.sql`), join(old, `${tag}.sql`));
  return old;
}

type Content = Record<string, { columns: string[]; rows: number; hash: string }>;

/** The row count of each table, and a hash of its columns. */
async function contentOf(db: Db, tables: Record<string, string[]>): Promise<Content> {
  const content: Content = {};
  for (const [table, columns] of Object.entries(tables)) {
    const list = columns.map((name) => `"${name}"`).join(', ');
    const [row] = await rowsOf<{ rows: number; hash: string }>(
      db,
      sql.raw(`select count(*)::int as rows, coalesce(md5(string_agg(r::text, ',' order by r::text)), '') as hash
               from (select ${list} from ${table}) r`),
    );
    content[table] = { columns, rows: row?.rows ?? 0, hash: row?.hash ?? '' };
  }
  return content;
}

async function emptyDatabase(t: Test, kind: DatabaseKind) {
  if (kind === 'embedded') {
    const dataDir = join(mkdtempSync(join(currentRun().folder, 'upgrade-')), 'data');
    return { env: { DATA_DIR: dataDir }, location: { dataDir } };
  }
  const { drop, url } = await freshPostgresDatabase('template0');
  t.teardown(drop);
  return { env: { DATABASE_URL: url }, location: { url } };
}

/** A database as an old version left it, and its content. */
async function oldDatabase(t: Test, kind: DatabaseKind, last: number) {
  const { env, location } = await emptyDatabase(t, kind);
  const tables: Record<string, string[]> = {};
  const before = await inside(location, async ({ db }) => {
    await applyMigrations(db as never, { migrationsFolder: migrationsUpTo(t, last) });
    const names = (await tablesOf(db)).filter((name) => name !== 'requests' || last > 0);
    if (last > 0) await db.execute(sql`select ledger_make_partitions(1)`);
    for (const table of names) {
      await fill(db, table, ROWS);
      tables[table] = (await columnsOf(db, table)).map(({ name }) => name);
    }
    return contentOf(db, tables);
  });
  // The service writes to these tables when it starts.
  for (const own of ['leases', 'settings']) {
    delete before[own];
    delete tables[own];
  }
  const contentNow = () => inside(location, ({ db }) => contentOf(db, tables));
  return { before, env, location, contentNow };
}

async function inside<T>(location: DatabaseLocation, work: (database: Database) => Promise<T>): Promise<T> {
  const database = await openDatabase(location);
  try {
    return await work(database);
  } finally {
    await database.close();
  }
}

/** Starts the service on the database, and sends a few requests. */
async function assertServes(t: Test, env: Record<string, string>): Promise<void> {
  const service = await startService(loadConfig({ PORT: '0', LOG_LEVEL: 'silent', ...env }));
  const client = new Client(`http://127.0.0.1:${service.port}`, service.app.swagger() as unknown as OpenApi);
  const owner = await client.signUp();
  const { key } = await client.createKey(owner);
  t.equal((await client.post('/chat', { message: 'Hello' }, { key })).status, 200);
  t.equal((await client.get('/usage', { key })).body.used.chat, 1);
  await service.stop();
}

const some = [0, Math.floor(newest / 2), newest - 1];
// The embedded database is slower and runs the same statements, so it tests only some schemas.
const schemas = { postgres: journal.entries.map((_, index) => index), embedded: some };

for (const kind of ['postgres', 'embedded'] as const)
  for (const last of schemas[kind]) {
    const { tag } = journal.entries[last] as { tag: string };
    t.test(`migrating from ${tag} loses no data, ${kind}`, async (t) => {
      const { before, contentNow, env, location } = await oldDatabase(t, kind, last);
      t.ok(Object.values(before).every(({ rows }) => rows > 0));
      await inside(location, (database) => migrate(database, env.DATABASE_URL));
      t.same(await contentNow(), before);
      if (some.includes(last)) await assertServes(t, env);
    });
  }

t.test(
  'postgres: after a kill during a migration, no data is lost and the next start completes it',
  async (t) => {
    const { before, contentNow, env, location } = await oldDatabase(t, 'postgres', 0);
    // A later migration waits for this table.
    await inside(location, ({ db }) =>
      db.transaction(async (tx) => {
        await tx.execute(sql`lock table accounts in access share mode`);
        const { child } = launch(t, env);
        await eventually('a migration is waiting', async () => {
          const [row] = await rowsOf<{ count: number }>(
            tx,
            sql`select count(*)::int as count from pg_locks
              where relation = 'accounts'::regclass and not granted
              and database = (select oid from pg_database where datname = current_database())`,
          );
          return row?.count === 1;
        });
        child.kill('SIGKILL');
        await once(child, 'exit');
      }),
    );
    t.same(await contentNow(), before);
    await assertServes(t, env);
  },
);

t.test(
  'embedded: after kills at different times, no data is lost and the next start completes the migration',
  async (t) => {
    const { before, contentNow, env } = await oldDatabase(t, 'embedded', 0);
    for (const ms of [700, 1000, 1300, 1700, 2200, 3000]) {
      const { child } = launch(t, env);
      await delay(ms);
      child.kill('SIGKILL');
      await once(child, 'exit');
    }
    t.same(await contentNow(), before);
    await assertServes(t, env);
  },
);

t.test('a failed migration changes nothing, and startup prints what to do', async (t) => {
  const { before, contentNow, env, location } = await oldDatabase(t, 'postgres', 5);
  // A manually created table conflicts with a later migration.
  await inside(location, ({ db }) => db.execute(sql`create table operator_log (note text)`));
  const { code, output } = await failToStart(t, env);
  t.equal(code, 1);
  t.match(output, /could not be migrated: relation "operator_log" already exists/);
  t.match(output, /Nothing was changed.*previous version/s);
  t.same(await contentNow(), before);
  await inside(location, ({ db }) => db.execute(sql`drop table operator_log`));
  await assertServes(t, env);
});

t.test(
  'migrations only add, so instances of the previous version keep working next to new ones',
  async (t) => {
    /** Statements that remove something, or that reject writes of the previous version. */
    const takes =
      /\b(drop\s+(table|column|constraint|type|schema)|rename\s+(to|column)|alter\s+column|truncate|set\s+not\s+null|delete\s+from)\b/i;
    for (const { tag } of journal.entries.slice(1)) {
      const text = readFileSync(join(folder, `${tag}.sql`), 'utf8');
      t.notMatch(text, takes, tag);
      for (const [added] of text.matchAll(/add column [^;]*/gi))
        if (/not null/i.test(added)) t.match(added, /default/i, `${tag}: ${added}`);
    }
  },
);
