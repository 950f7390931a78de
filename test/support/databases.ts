import { createHash, randomBytes } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import postgres from 'postgres';
import { postgresUrl, startPostgres } from './postgres.ts';
import { currentRun, type PostgresAddress, saveRun } from './run-folder.ts';

const root = new URL('../../', import.meta.url);

export type FreshDatabase = { name: string; url: string; drop(): Promise<void> };
export type FreshPglite = { dataDir: string; drop(): void };

/** The Postgres of this test run. It starts on first use, if the runner has not started it. */
export async function sharedPostgres(): Promise<PostgresAddress> {
  const run = currentRun();
  if (run.postgres) return run.postgres;
  const { port, version, description, dataDir, socketDir } = await startPostgres();
  const started = { port, version, description, dataDir, socketDir };
  saveRun({ ...run, postgres: started });
  return started;
}

/**
 * Creates a template database once per test run. The first caller creates it, and concurrent callers wait.
 *
 * @param migrate - migrates the empty database at `url` to the current schema, and disconnects
 * @param name - the name of the template
 * @returns the name, for `freshPostgresDatabase`
 */
export async function templatePostgres(
  migrate: (url: string) => Promise<void>,
  name = 'parley_template',
): Promise<string> {
  const { port } = await sharedPostgres();
  await asAdmin(port, async (sql) => {
    await sql`SELECT pg_advisory_lock(hashtext(${name}))`;
    const [found] = await sql`SELECT datistemplate AS finished FROM pg_database WHERE datname = ${name}`;
    if (found?.finished) return;
    await sql`DROP DATABASE IF EXISTS ${sql(name)} WITH (FORCE)`;
    await sql`CREATE DATABASE ${sql(name)}`;
    await migrate(postgresUrl(port, name));
    await sql`ALTER DATABASE ${sql(name)} WITH IS_TEMPLATE true ALLOW_CONNECTIONS false`;
  });
  return name;
}

/** Creates a database for one test as a copy of a template. Drop it at the end of the test. */
export async function freshPostgresDatabase(template: string): Promise<FreshDatabase> {
  const { port, version } = await sharedPostgres();
  const name = `test_${randomBytes(6).toString('hex')}`;
  await asAdmin(port, async (sql) => {
    const strategy = version >= 15 ? sql`STRATEGY file_copy` : sql``;
    await sql`CREATE DATABASE ${sql(name)} TEMPLATE ${sql(template)} ${strategy}`;
  });
  return {
    name,
    url: postgresUrl(port, name),
    drop: () =>
      asAdmin(port, async (sql) => {
        await sql`DROP DATABASE IF EXISTS ${sql(name)} WITH (FORCE)`;
      }),
  };
}

async function asAdmin(port: number, work: (sql: postgres.Sql) => Promise<void>): Promise<void> {
  const sql = postgres(postgresUrl(port, 'postgres'), { max: 1, onnotice: () => {} });
  try {
    await work(sql);
  } finally {
    await sql.end();
  }
}

/**
 * Creates a data folder of the embedded database for one test. It is a copy (0.1 s) of a migrated template (about 4 s),
 * which stays in `.tap/pglite` until the migrations, the store, or a dependency changes.
 *
 * @param migrate - creates the database in `dataDir`, migrates it to the current schema, and closes it
 */
export async function freshPglite(
  migrate: (dataDir: string) => Promise<void>,
  { cache = new URL('.tap/pglite/', root) } = {},
): Promise<FreshPglite> {
  pgliteModule ??= compilePglite();
  await pgliteModule;
  const template = await templatePglite(migrate, fileURLToPath(cache));
  const dataDir = fs.mkdtempSync(path.join(currentRun().folder, 'pglite-'));
  fs.cpSync(template, dataDir, { recursive: true, mode: fs.constants.COPYFILE_FICLONE });
  return { dataDir, drop: () => fs.rmSync(dataDir, { recursive: true, force: true }) };
}

/** V8 reuses a module that it has already compiled, which halves the startup of each further embedded database. */
let pgliteModule: Promise<object> | undefined;
// `WebAssembly` is only in the DOM types.
const { WebAssembly } = globalThis as unknown as {
  WebAssembly: { compile(bytes: Uint8Array): Promise<object> };
};

const compilePglite = () =>
  fs.promises
    .readFile(new URL('pglite.wasm', import.meta.resolve('@electric-sql/pglite')))
    .then((bytes) => WebAssembly.compile(bytes));

async function templatePglite(migrate: (dataDir: string) => Promise<void>, cache: string): Promise<string> {
  const template = path.join(
    cache,
    contentHash(['drizzle', 'src/database', 'src/store', 'package-lock.json']),
  );
  if (fs.existsSync(template)) return template;
  // Several test files may get here at once. Each creates a template, and the first rename wins. No template is seen
  // unfinished.
  fs.mkdirSync(cache, { recursive: true });
  const unfinished = path.join(cache, `unfinished-${randomBytes(6).toString('hex')}`);
  await migrate(unfinished);
  try {
    fs.renameSync(unfinished, template);
  } catch (error) {
    if (!fs.existsSync(template)) throw error;
    fs.rmSync(unfinished, { recursive: true });
  }
  removeOutdated(cache, path.basename(template));
  return template;
}

/** Removes templates of other schemas, and unfinished ones that killed runs left behind. */
function removeOutdated(cache: string, current: string): void {
  const tenMinutesAgo = Date.now() - 600_000;
  for (const name of fs.readdirSync(cache)) {
    const folder = path.join(cache, name);
    const inUse =
      name === current || (fs.statSync(folder, { throwIfNoEntry: false })?.mtimeMs ?? 0) > tenMinutesAgo;
    if (!inUse) fs.rmSync(folder, { recursive: true, force: true });
  }
}

function contentHash(names: string[]): string {
  const hash = createHash('sha256');
  const add = (name: string): void => {
    const found = fs.statSync(path.join(fileURLToPath(root), name), { throwIfNoEntry: false });
    if (found?.isDirectory()) {
      for (const inner of fs.readdirSync(path.join(fileURLToPath(root), name)).sort())
        add(`${name}/${inner}`);
    } else if (found) {
      hash.update(`${name}\0${found.size}\0`).update(fs.readFileSync(path.join(fileURLToPath(root), name)));
    }
  };
  for (const name of names) add(name);
  return hash.digest('hex').slice(0, 16);
}
