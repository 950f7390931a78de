/** Checks the database, from the process that holds it. Contract section 11. */
import { readFileSync } from 'node:fs';
import { sql } from 'drizzle-orm';
import type { Config } from '../../config.ts';
import { type Db, rowsOf } from '../../database/client.ts';
import { projectRoot } from '../../project.ts';
import { serviceCount } from '../../store/leases.ts';
import type { DatabaseCommand } from '../command.ts';
import { counted } from '../counted.ts';
import { type Finding, isError, isWarning } from './finding.ts';

const OLDEST_VERSION = 14;
/** Cookies, limits, and leases tolerate less skew than this. */
const SKEW_MS = 2000;

type Server = {
  version: number;
  encoding: string;
  is_standby: boolean;
  fsync: string;
  max_connections: number;
  may_create: boolean;
  ms: number;
};

async function checkServer(db: Db, config: Config): Promise<Finding[]> {
  const [server] = await rowsOf<Server>(
    db,
    sql`select current_setting('server_version_num')::int / 10000 as version,
               current_setting('server_encoding') as encoding,
               pg_is_in_recovery() as is_standby,
               current_setting('fsync') as fsync,
               current_setting('max_connections')::int as max_connections,
               coalesce(has_schema_privilege(current_schema(), 'create'), false) as may_create,
               extract(epoch from clock_timestamp())::float8 * 1000 as ms`,
  );
  if (server === undefined) return [];
  const findings: Finding[] = [];
  if (server.version < OLDEST_VERSION)
    findings.push(
      isError(
        'DATABASE_URL',
        `The server is Postgres ${server.version}; Parley needs ${OLDEST_VERSION} or later.`,
        'Upgrade the server, or use another one.',
      ),
    );
  if (server.encoding !== 'UTF8')
    findings.push(
      isError(
        'DATABASE_URL',
        `The encoding of the database is ${server.encoding}, which cannot store all characters.`,
        "Create the database with: create database parley encoding 'UTF8' template template0",
      ),
    );
  if (server.is_standby)
    findings.push(
      isError(
        'DATABASE_URL',
        'The server is a standby, which accepts no changes.',
        'Set DATABASE_URL to the primary.',
      ),
    );
  if (config.databaseUrl === undefined) return findings;
  if (server.fsync === 'off')
    findings.push(
      isError(
        'DATABASE_URL',
        'The server runs with fsync off: a power failure can destroy the database.',
        'Set fsync = on in postgresql.conf, and reload the server.',
      ),
    );
  if (!server.may_create && !server.is_standby)
    findings.push(
      isError(
        'DATABASE_URL',
        'The role is not allowed to create tables, so migrations and new daily partitions fail.',
        'Make the role the owner of the database, or run this statement with its name: grant create on schema public to ROLE',
      ),
    );
  if (config.databaseConnections > server.max_connections)
    findings.push(
      isError(
        'DATABASE_CONNECTIONS',
        `A process may open ${config.databaseConnections} connections, but the server allows ${server.max_connections} in all.`,
        'Lower DATABASE_CONNECTIONS, or raise max_connections.',
      ),
    );
  return findings;
}

async function checkClock(db: Db): Promise<Finding[]> {
  const start = Date.now();
  const [clock] = await rowsOf<{ ms: number }>(
    db,
    sql`select extract(epoch from ledger_now())::float8 * 1000 as ms`,
  );
  // The statement ran at some time between the two readings.
  const ahead = Math.max(0, (clock?.ms ?? start) - Date.now());
  const behind = Math.max(0, start - (clock?.ms ?? start));
  const skew = Math.max(ahead, behind);
  if (skew < SKEW_MS) return [];
  return [
    isError(
      'clock',
      `The clock of the database is ${Math.round(skew / 1000)} s ${ahead > 0 ? 'ahead of' : 'behind'} the clock of this machine.`,
      'Synchronize the clocks of both machines, for example with chrony or systemd-timesyncd.',
    ),
  ];
}

const migrated = () =>
  (
    JSON.parse(readFileSync(new URL('drizzle/meta/_journal.json', projectRoot), 'utf8')) as {
      entries: { when: number; tag: string }[];
    }
  ).entries;

/** Returns undefined if the database has no tables. */
async function checkSchema(db: Db): Promise<Finding[] | undefined> {
  const [tables] = await rowsOf<{ found: boolean }>(
    db,
    sql`select to_regclass('drizzle.__drizzle_migrations') is not null and to_regclass('accounts') is not null as found`,
  );
  if (tables?.found !== true) return undefined;
  const applied = await rowsOf<{ at: string }>(
    db,
    sql`select created_at::text as at from drizzle.__drizzle_migrations`,
  );
  const times = new Set(applied.map(({ at }) => Number(at)));
  const newest = Math.max(...times);
  const missing = migrated().filter(({ when }) => when > newest);
  const findings: Finding[] = [];
  if (migrated().every(({ when }) => when < newest))
    findings.push(
      isError(
        'migrations',
        'The database was migrated by a newer version of Parley.',
        'Use that version, or restore a backup from before the upgrade.',
      ),
    );
  if (missing.length > 0)
    findings.push(
      isWarning(
        'migrations',
        `${counted(missing.length, 'migration')} ${missing.length === 1 ? 'is' : 'are'} missing: ${missing.map(({ tag }) => tag).join(', ')}.`,
        'Make a backup, and start the service: it migrates the database.',
      ),
    );
  return findings;
}

async function checkOperators(db: Db, { operators }: Config): Promise<Finding[]> {
  const missing = await rowsOf<{ name: string }>(
    db,
    sql`select name from jsonb_array_elements_text(${JSON.stringify([...operators])}::text::jsonb) as name
        where not exists (select from accounts where email_key = name and deleted_at is null)
          and not exists (select from accounts where id::text = name and deleted_at is null)`,
  );
  return missing.map(({ name }) =>
    isWarning(
      'OPERATORS',
      `There is no account "${name}".`,
      name.includes('@')
        ? `Create it, because nobody can sign up with this address: npx parley accounts create ${name}`
        : 'Correct the ID: npx parley accounts show EMAIL shows the ID of an account.',
    ),
  );
}

async function checkContents(db: Db, { plans, redisUrl }: Config): Promise<Finding[]> {
  const findings: Finding[] = [];
  const known = JSON.stringify(plans.plans.map(({ id }) => id));
  const orphans = await rowsOf<{ plan: string; count: number }>(
    db,
    sql`select plan, count(*)::int as count from accounts
        where deleted_at is null and not ${known}::text::jsonb ? plan group by plan order by plan`,
  );
  for (const { count, plan } of orphans)
    findings.push(
      isWarning(
        'PLANS_FILE',
        `${count === 1 ? '1 account has' : `${count} accounts have`} the plan "${plan}", which does not exist. The limits of ${plans.standard.id} apply.`,
        `Add the plan to PLANS_FILE, or move ${count === 1 ? 'this account' : 'each of these accounts'} to another plan: run "npx parley accounts list --plan ${plan}", then "npx parley accounts set-plan".`,
      ),
    );
  const [processes] = await rowsOf<{ count: number }>(db, sql`select (${serviceCount})::int as count`);
  if ((processes?.count ?? 0) > 1 && redisUrl === undefined)
    findings.push(
      isWarning(
        'REDIS_URL',
        `${processes?.count} services use this database, and each enforces rate limits separately.`,
        'Set REDIS_URL on all of them.',
      ),
    );
  const [partition] = await rowsOf<{ exists: boolean }>(
    db,
    sql`select to_regclass('requests_' || to_char(ledger_day(ledger_now()) + 1, 'YYYYMMDD')) is not null as exists`,
  );
  if (partition?.exists !== true)
    findings.push(
      isError(
        'partitions',
        'The requests table has no partition for tomorrow, so requests will fail starting at midnight UTC.',
        'Restart the service to create the partition, and check the log for failed maintenance.',
      ),
    );
  return findings;
}

/** Counts of messages that are overdue, or were attempted in the last hour. */
type Outbox = { overdue: number; failed: number; delivered: number; error: string | null };

async function checkWebhooks(db: Db): Promise<Finding[]> {
  const [outbox] = await rowsOf<Outbox>(
    db,
    sql`select count(*) filter (where due_at < now() - interval '5 minutes')::int as overdue,
               count(*) filter (where tried and error is not null)::int as failed,
               count(*) filter (where tried and status = 'delivered')::int as delivered,
               mode() within group (order by error) filter (where tried and response_status is null) as error
        from webhook_messages cross join lateral (select last_attempt_at > now() - interval '1 hour' as tried) t
        where at > now() - interval '2 days'`,
  );
  if (outbox === undefined) return [];
  const { delivered, error, failed, overdue } = outbox;
  const findings: Finding[] = [];
  if (overdue > 0)
    findings.push(
      isWarning(
        'webhooks',
        `${counted(overdue, 'webhook message')} should have been sent more than 5 minutes ago.`,
        'Start the service. If it is running, check its log for "Sending webhooks failed". An endpoint that is slow to respond also delays the messages of its account.',
      ),
    );
  if (failed > 2 && delivered === 0 && error !== null)
    findings.push(
      isWarning(
        'webhooks',
        `No webhook message was delivered in the last hour, and ${failed} failed, most often because: ${error}`,
        'Check that this machine can resolve names and connect to https addresses, and that no firewall blocks them.',
      ),
    );
  return findings;
}

async function checkDatabase(db: Db, config: Config): Promise<Finding[]> {
  const findings = await checkServer(db, config);
  const schema = await checkSchema(db);
  if (schema === undefined)
    return [
      ...findings,
      isWarning(
        'migrations',
        'The database is empty.',
        'Start the service, which creates the tables. If there should be data, correct DATABASE_URL.',
      ),
    ];
  findings.push(...schema);
  if (schema.length > 0) return findings;
  return [
    ...findings,
    ...(await checkClock(db)),
    ...(await checkContents(db, config)),
    ...(await checkOperators(db, config)),
    ...(await checkWebhooks(db)),
  ];
}

/** Not in the list of commands, because `doctor` runs it. */
export const doctorDatabase: DatabaseCommand = {
  name: 'doctor-database',
  summary: 'Check the database.',
  parameters: [],
  run: async ({ config, db }) => ({ text: [], value: await checkDatabase(db, config) }),
};
