/**
 * `make abuse`: attacks a service and checks that it stays responsive. `ABUSE_SECONDS` (8) sets the duration of each attack,
 * and `ABUSE_ONLY=name,…` selects attacks. Every attack is a file in `abuse/attacks`.
 *
 * Starts the service on loopback, on each database, with a heap of 1 GiB and its default limits. Restarts it before each
 * attack, because the limits that one attack exhausts would reject most requests of the next. Attackers, the honest client,
 * and the upstream are separate processes. Attackers run at the lowest priority: with few processors, they would otherwise
 * slow down the service just by running.
 * Exits with 1 if the p99 of `/healthz` is 100 ms or more, an honest chat request fails, memory reaches 700 MB, or the ledger
 * audit finds differences. A row that fails while the host gives CPU time to other machines is shown and measured again.
 */
import { type ChildProcess, execFileSync, fork } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import { availableParallelism, cpus, loadavg } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { startPostgres } from '../test/support/postgres.ts';
import { startUpstream } from '../test/support/upstream/client.ts';
import type { Report, Target } from './abuse/attack.ts';
import type { Served } from './abuse/honest.ts';
import { makeKeys } from './support/accounts.ts';
import { memoryMegabytes, startServiceProcess } from './support/processes.ts';
import { table } from './support/report.ts';

const MAX_HEALTH_MS = 100;
const MAX_MEGABYTES = 700;
const ATTACKERS = 5;

const root = fileURLToPath(new URL('..', import.meta.url));
const here = new URL('./abuse/', import.meta.url);
const seconds = Number(process.env.ABUSE_SECONDS ?? 8);
const only = process.env.ABUSE_ONLY?.split(',');
const attacks = fs
  .readdirSync(new URL('attacks/', here))
  .filter((name) => only === undefined || only.includes(path.parse(name).name))
  .sort();

const say = (text: string) => process.stdout.write(`${text}\n`);

async function startHelper(name: string): Promise<ChildProcess> {
  const child = fork(fileURLToPath(new URL(name, here)), {
    cwd: root,
    execArgv: ['--import=ts-blank-space/register'],
  });
  await once(child, 'message');
  return child;
}

async function told<T>(child: ChildProcess, order: object): Promise<T> {
  child.send(order);
  const [answer] = await once(child, 'message');
  return answer as T;
}

type Row = { cells: string[]; problems: string[]; stolen: number };

/** Above this share of stolen CPU time, a failed row says little about the service and is measured again. */
const MAX_STOLEN = 0.02;
const MAX_TRIES = 3;

/** CPU time of all processors since boot, and the part that the host gave to other machines, in ticks. */
function machineTime(): { all: number; stolen: number } {
  const [line = ''] = fs.readFileSync('/proc/stat', 'utf8').split('\n');
  const ticks = line.split(/\s+/).slice(1, 9).map(Number);
  return { all: ticks.reduce((sum, one) => sum + one, 0), stolen: ticks[7] ?? 0 };
}

async function runAttack(name: string, pid: number, target: Target, honest: Target): Promise<Row> {
  const [attacker, client] = [await startHelper('attacker.ts'), await startHelper('honest.ts')];
  let peak = 0;
  const before = machineTime();
  const watch = setInterval(() => {
    peak = Math.max(peak, memoryMegabytes(pid).now);
  }, 100);
  const file = fileURLToPath(new URL(`attacks/${name}`, here));
  const [{ outcomes, title }, { chats, failed, health }] = await Promise.all([
    told<Report>(attacker, { file, target, seconds }),
    told<Served>(client, { target: honest, seconds }),
  ]);
  clearInterval(watch);
  client.kill();
  const after = machineTime();
  const stolen = (after.stolen - before.stolen) / Math.max(after.all - before.all, 1);
  const ms = (value: number) => value.toFixed(0);
  const failures = Object.entries(failed).map(([why, times]) => `${times} × ${why}`);
  const requests = Object.values(outcomes).reduce((sum, times) => sum + times, 0);
  return {
    cells: [
      title,
      String(requests),
      Object.entries(outcomes)
        .map(([what, times]) => `${what}: ${times}`)
        .join(', ') || 'no responses',
      `${ms(health.p50)} / ${ms(health.p99)} / ${ms(health.max)}`,
      `${chats}${failures.length > 0 ? `, failed: ${failures.join(', ')}` : ''}`,
      ms(peak),
      `${(100 * stolen).toFixed(1)} %`,
    ],
    stolen,
    problems: [
      ...(health.p99 < MAX_HEALTH_MS ? [] : [`${title}: the p99 of /healthz was ${ms(health.p99)} ms.`]),
      ...(failures.length === 0 && chats > 0 ? [] : [`${title}: honest requests failed.`]),
      ...(peak < MAX_MEGABYTES ? [] : [`${title}: ${ms(peak)} MB of memory.`]),
    ],
  };
}

async function attackOn(kind: 'embedded' | 'postgres', upstreamUrl: string): Promise<string[]> {
  const postgres = kind === 'postgres' ? await startPostgres({ durable: true }) : undefined;
  const folder = fs.mkdtempSync(path.join(root, '.prepare/abuse-'));
  const database = { DATA_DIR: folder, ...(postgres && { DATABASE_URL: postgres.url() }) };
  const start = () =>
    startServiceProcess({ ...database, CHAT_URL: upstreamUrl }, ['--max-old-space-size=1024']);
  const first = await start();
  // The largest plan, so that plan limits stop neither the attackers nor the honest client.
  const [honestKey = '', ...keys] = await makeKeys(first.origin, ATTACKERS + 1, 'pro');
  await first.stop();
  const rows: Row[] = [];
  for (const name of attacks) {
    process.stderr.write(`${kind}: ${path.parse(name).name} …\n`);
    for (let attempt = 1; ; attempt += 1) {
      const service = await start();
      const at = { origin: service.origin, port: Number(new URL(service.origin).port) };
      const row = await runAttack(name, service.pid, { ...at, keys }, { ...at, keys: [honestKey] });
      await service.stop();
      rows.push(row);
      if (row.problems.length === 0 || row.stolen < MAX_STOLEN || attempt === MAX_TRIES) break;
      row.problems.length = 0;
    }
  }
  const problems = rows.flatMap((row) => row.problems.map((problem) => `${kind}: ${problem}`));
  let audit = 'clean';
  try {
    execFileSync(process.execPath, ['dist/src/commands/audit.js'], {
      cwd: root,
      env: { PATH: process.env.PATH, ...database },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
  } catch (error) {
    const { stderr, stdout } = error as { stdout?: Buffer; stderr?: Buffer };
    audit = `${stdout ?? ''}${stderr ?? error}`.trim();
    problems.push(`${kind}: the audit failed: ${audit}`);
  }
  const head = [
    'attack',
    'requests',
    'responses',
    '/healthz p50 / p99 / max, ms',
    'honest chats',
    'peak MB',
    'stolen CPU',
  ];
  say(
    `\n## ${kind}\n\n${table(
      head,
      rows.map(({ cells }) => cells),
    )}\n\nAudit: ${audit}.`,
  );
  await postgres?.drop();
  fs.rmSync(folder, { recursive: true, force: true });
  return problems;
}

const [cpu] = cpus();
say(
  `# Abuse\n\n${availableParallelism()} CPUs (${cpu?.model.trim()}), Node ${process.version}, load average before the run: ${loadavg()[0]?.toFixed(1)}; ${seconds} s per attack.`,
);
const upstream = await startUpstream();
const problems: string[] = [];
for (const kind of ['embedded', 'postgres'] as const) problems.push(...(await attackOn(kind, upstream.url)));
await upstream.stop();
say(problems.length === 0 ? '\nThe service passed.' : `\nThe service failed:\n- ${problems.join('\n- ')}`);
process.exit(problems.length === 0 ? 0 : 1);
