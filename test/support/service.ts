/** Runs the service as in production, on either kind of database. Each test service has its own database. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Test } from 'tap';
import { type Config, loadConfig } from '../../src/config.ts';
import { openDatabase } from '../../src/database/client.ts';
import { migrate } from '../../src/database/migrate.ts';
import { defaultPlans } from '../../src/domain/plans.ts';
import { type Service, startService } from '../../src/service.ts';
import { freshPglite, freshPostgresDatabase, templatePostgres } from './databases.ts';
import { Client, type OpenApi } from './http.ts';
import { currentRun } from './run-folder.ts';

export const databaseKinds = ['embedded', 'postgres'] as const;
export type DatabaseKind = (typeof databaseKinds)[number];

type Env = Record<string, string>;
export type TestDatabase = { kind: DatabaseKind; env: Env; drop(): Promise<void> };

async function migrateOnce(location: { url: string } | { dataDir: string }): Promise<void> {
  const database = await openDatabase(location);
  await migrate(database, 'url' in location ? location.url : undefined);
  await database.close();
}

/** Creates a migrated database for one test. `env` configures a service to use it. Drop it at the end of the test. */
export async function freshDatabase(kind: DatabaseKind): Promise<TestDatabase> {
  if (kind === 'embedded') {
    const { dataDir, drop } = await freshPglite((folder) => migrateOnce({ dataDir: folder }));
    return { kind, env: { DATA_DIR: dataDir }, drop: async () => drop() };
  }
  const template = await templatePostgres((url) => migrateOnce({ url }));
  const { drop, url } = await freshPostgresDatabase(template);
  return { kind, env: { DATABASE_URL: url }, drop };
}

/** A service in this process, with a client of it, and its environment variables. */
export type TestService = Service & { kind: DatabaseKind; client: Client; env: Env };

/** A limit that no test reaches by accident. Tests of the limits set their own. */
const MANY = 1_000_000;

/** Writes a file with the built-in plans, but without a real limit of requests per minute. */
function defaultPlansFile(): string {
  const file = join(currentRun().folder, `plans-${process.pid}.json`);
  const data = defaultPlans.plans.map((plan) => ({ ...plan, requests_per_minute: MANY }));
  writeFileSync(file, JSON.stringify({ data }));
  return file;
}

/** Limits that no environment variable sets, so that tests can lower them. */
export type FixedLimits = Partial<Pick<Config, 'answerLimits' | 'unreadMs'>>;

/** The OpenAPI document, which is the same for all services. Generating it takes a third of the startup time. */
let document: OpenApi | undefined;

/**
 * Starts the service in this process. When the test ends, it is stopped and its database is dropped.
 *
 * @param env - environment variables of the service, in addition to those of the test kit
 * @param limits - limits to override
 */
export async function startTestService(
  t: Test,
  kind: DatabaseKind,
  env: Env = {},
  limits: FixedLimits = {},
): Promise<TestService> {
  const database = await freshDatabase(kind);
  const settings = {
    PORT: '0',
    LOG_LEVEL: 'silent',
    AUTH_ATTEMPTS_PER_MINUTE: String(MANY),
    CALLS_PER_ACCOUNT: '100000',
    PLANS_FILE: defaultPlansFile(),
    ...database.env,
    ...env,
  };
  const service = await startService({ ...loadConfig(settings), ...limits });
  t.teardown(async () => {
    await service.stop();
    await database.drop();
  });
  document ??= service.app.swagger() as unknown as OpenApi;
  return {
    ...service,
    kind,
    env: settings,
    client: new Client(`http://127.0.0.1:${service.port}`, document),
  };
}

/** Runs a test on each kind of database, each time with a new service and a new database. */
export function onEachDatabase(
  t: Test,
  env: Env,
  run: (t: Test, service: TestService) => Promise<void>,
  limits: FixedLimits = {},
): void {
  for (const kind of databaseKinds) {
    t.test(kind, async (t) => run(t, await startTestService(t, kind, env, limits)));
  }
}

export type Ceilings = {
  chat?: number | null;
  images?: number | null;
  search?: number | null;
  embeddings?: number | null | undefined;
  tokens?: number | null;
};

/**
 * Writes a file with two plans: `small`, where accounts start, with these quotas, and `large`, without quotas.
 *
 * @param requestsPerMinute - the limit of requests per minute in the plan `small`
 * @returns the environment variable that makes a service use the file
 */
export function plansFile(t: Test, ceilings: Ceilings = {}, requestsPerMinute = MANY): Env {
  const plan = (id: string, limits: Ceilings, perMinute: number) => ({
    id,
    name: id,
    currency: 'USD',
    monthly_price_cents: 100,
    limits: { chat: null, images: null, search: null, embeddings: null, ...limits },
    requests_per_minute: perMinute,
  });
  const file = join(t.testdir(), 'plans.json');
  writeFileSync(
    file,
    JSON.stringify({ data: [plan('small', ceilings, requestsPerMinute), plan('large', {}, MANY)] }),
  );
  return { PLANS_FILE: file };
}
