/**
 * `make bench-quota`: the cost of exact quotas. Compares a bare route with one guarded upsert per request, the ledger's
 * admission, admission and finalization, and pgbench upserting the same row. Runs with 1 and 1,000 accounts, and with 64 and
 * 256 connections, on durable Postgres and on PGlite.
 *
 * Server, load, and database are separate processes on this machine. The server has production options and logs to
 * /dev/null. Prints the results and writes them to `results/quota.md`. Fails only if requests fail. Each line takes `SECONDS`
 * (4). `ONLY=postgres` or `pglite`, `WAYS=bare,finalization`, and `PROFILE=folder` select a part, and write no results.
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import postgres from 'postgres';
import { startPostgres } from '../test/support/postgres.ts';
import type { Load, LoadResult } from './quota/client.ts';
import { pgbench } from './quota/pgbench.ts';

const seconds = Number(process.env.SECONDS ?? 4);
const WARM_UP_MS = 1000;
const say = (text: string) => process.stderr.write(`${text}\n`);
const root = fileURLToPath(new URL('..', import.meta.url));

const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'parley-bench-'));
process.on('exit', () => fs.rmSync(folder, { recursive: true, force: true }));
const plan = {
  id: 'bench',
  name: 'Bench',
  currency: 'USD',
  monthly_price_cents: 0,
  limits: { chat: 1_000_000_000, images: 1, search: 1 },
  requests_per_minute: 1_000_000,
};
const plansFile = path.join(folder, 'plans.json');
fs.writeFileSync(plansFile, JSON.stringify({ data: [plan] }));

function start(file: string, env: Record<string, string> = {}, execArgv: string[] = []) {
  return fork(path.join(root, 'bench/quota', file), {
    cwd: root,
    execArgv: ['--import=ts-blank-space/register', ...execArgv],
    env: { PATH: process.env.PATH ?? '', HOME: process.env.HOME ?? '', ...env },
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
}

const client = start('client.ts');
async function measure(load: Omit<Load, 'warmUpMs' | 'measureMs'>): Promise<LoadResult> {
  const answer = once(client, 'message');
  client.send({ ...load, warmUpMs: WARM_UP_MS, measureMs: seconds * 1000 });
  return (await answer)[0] as LoadResult;
}

type Row = { name: string; result: LoadResult };
const titles: Record<string, string> = {
  bare: 'bare route',
  upsert: 'one guarded upsert per request',
  admission: 'admission',
  finalization: 'admission and finalization',
};

async function measureAll(env: Record<string, string>, pgbenchAt?: number): Promise<Map<string, Row[]>> {
  const profile = process.env.PROFILE;
  const server = start(
    'server.ts',
    { PLANS_FILE: plansFile, NODE_ENV: 'production', ...env },
    profile ? ['--cpu-prof', `--cpu-prof-dir=${profile}`] : [],
  );
  const [port] = (await once(server, 'message')) as [number];
  const results = new Map<string, Row[]>();
  for (const accounts of [1, 1000]) {
    for (const connections of [64, 256]) {
      const title = `${accounts === 1 ? 'one account' : `${accounts} accounts`}, ${connections} connections`;
      say(title);
      const rows: Row[] = [];
      for (const way of (process.env.WAYS ?? 'bare,upsert,admission,finalization').split(',')) {
        await fetch(`http://127.0.0.1:${port}/reset`, { method: 'POST' });
        const result = await measure({ port, path: `/${way}`, connections, accounts });
        say(`  ${titles[way]}: ${Math.round(result.perSecond)} requests/s, ${result.failed} failed`);
        if (result.failed > 0) throw new Error(`${titles[way]}: ${result.failed} requests failed.`);
        rows.push({ name: titles[way] as string, result });
      }
      if (pgbenchAt !== undefined) {
        const result = await pgbench(pgbenchAt, folder, { accounts, connections, seconds });
        if (result) rows.push({ name: 'pgbench, one upsert per transaction', result });
      }
      results.set(title, rows);
    }
  }
  const ended = once(server, 'exit');
  server.disconnect();
  await ended;
  return results;
}

function table(rows: Row[]): string {
  const bare = rows.find(({ name }) => name === titles.bare)?.result.perSecond ?? 0;
  const line = (cells: string[]) => `| ${cells.join(' | ')} |`;
  return [
    line(['', 'requests/s', 'of bare', 'p50 ms', 'p99 ms', 'failed']),
    line(['---', '---:', '---:', '---:', '---:', '---:']),
    ...rows.map(({ name, result: { failed, p50, p99, perSecond } }) =>
      line([
        name,
        Math.round(perSecond).toLocaleString('en'),
        bare > 0 && !name.startsWith('pgbench') ? `${Math.round((100 * perSecond) / bare)}%` : '',
        p50.toFixed(1),
        p99.toFixed(1),
        String(failed),
      ]),
    ),
  ].join('\n');
}

const busy = os.loadavg()[0] ?? 0;
const database = await startPostgres({ durable: true, settings: { max_connections: '300' } });
const sql = postgres(database.url(), { max: 1, onnotice: () => {} });
const [about] =
  await sql`select current_setting('server_version') as version, current_setting('fsync') as fsync,
  current_setting('synchronous_commit') as synchronous_commit`;
await sql.unsafe(`create table pgbench_counters (account_id int, day date, meter text, used bigint not null,
  primary key (account_id, day, meter)) with (fillfactor = 50)`);
await sql.end();

const only = process.env.ONLY;
const measured = async (name: string, env: Record<string, string>, pgbenchAt?: number) => {
  if (only !== undefined && only !== name) return new Map<string, Row[]>();
  say(name);
  return measureAll(env, pgbenchAt);
};
const onPostgres = await measured('postgres', { DATABASE_URL: database.url() }, database.port);
await database.drop();
const onPglite = await measured('pglite', { DATA_DIR: path.join(folder, 'data') });
client.disconnect();

const [cpu] = os.cpus();
const section = (title: string, results: Map<string, Row[]>) =>
  [`## ${title}`, ...[...results].map(([name, rows]) => `### ${name}\n\n${table(rows)}`)].join('\n\n');
const report = `# Cost of exact quotas

${new Date().toISOString().slice(0, 10)}, \`make bench-quota\`: ${seconds} s per line after ${WARM_UP_MS / 1000} s of warm-up.
Logging (to /dev/null), validation, and serialization run as in production. No line includes authentication.

- ${os.availableParallelism()} CPUs (${cpu?.model.trim() || 'model unknown'}), ${(os.totalmem() / 1e9).toFixed(0)} GB of memory, ${os.type()}, shared by the server, the load client, and the database; load average before the run: ${busy.toFixed(1)}
- Node ${process.version}
- Postgres ${about?.version}: fsync ${about?.fsync}, synchronous_commit ${about?.synchronous_commit}

${section('Postgres', onPostgres)}

${section('PGlite', onPglite)}
`;
process.stdout.write(report);
if (only === undefined && process.env.WAYS === undefined && process.env.PROFILE === undefined)
  fs.writeFileSync(path.join(root, 'bench/results/quota.md'), report);
process.exit();
