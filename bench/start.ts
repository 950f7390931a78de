/**
 * `make bench-start`: the time from process start until the service accepts requests, and its memory after startup. Settings:
 * `ROUNDS` (10).
 *
 * Alternates between a new folder, an existing folder, and a migrated Postgres database. Also measures the preparation of
 * `make start` when everything is up to date. Prints the results and writes them to `results/start.md`. Asserts nothing.
 */
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import { loadavg, tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { startPostgres } from '../test/support/postgres.ts';
import { memoryMegabytes, startServiceProcess } from './support/processes.ts';
import { machine, table, today, writeResult } from './support/report.ts';

const rounds = Number(process.env.ROUNDS ?? 10);
/** Memory is read once the work after startup is done. `src/process/trim-memory.ts` is its last step. */
const SETTLED_MS = 8000;
const root = fileURLToPath(new URL('..', import.meta.url));
const busy = loadavg()[0] ?? 0;
const home = fs.mkdtempSync(path.join(tmpdir(), 'parley-bench-'));
process.on('exit', () => fs.rmSync(home, { recursive: true, force: true }));
const database = await startPostgres({ durable: true });
let fresh = 0;

type Start = { ms: number; megabytes: number };
async function start(env: Record<string, string>): Promise<Start> {
  const from = performance.now();
  const service = await startServiceProcess(env);
  const ms = performance.now() - from;
  await sleep(SETTLED_MS);
  const megabytes = memoryMegabytes(service.pid).now;
  await service.stop();
  return { ms, megabytes };
}

function prepare(): Start {
  const from = performance.now();
  const { status } = spawnSync(process.execPath, ['tools/prepare.mjs', 'serve'], { cwd: root });
  if (status !== 0) throw new Error(`tools/prepare.mjs exited with ${status}.`);
  return { ms: performance.now() - from, megabytes: Number.NaN };
}

const existing = { DATA_DIR: path.join(home, 'existing') };
const ways: { title: string; aim: string; start: () => Start | Promise<Start>; starts: Start[] }[] = [
  {
    title: 'embedded database, new folder',
    aim: '3,000',
    start: () => start({ DATA_DIR: path.join(home, `fresh-${fresh++}`) }),
    starts: [],
  },
  { title: 'embedded database, existing folder', aim: '1,000', start: () => start(existing), starts: [] },
  { title: 'Postgres', aim: '700', start: () => start({ DATABASE_URL: database.url() }), starts: [] },
  { title: 'preparation of `make start`, with everything up to date', aim: '', start: prepare, starts: [] },
];
// The first start of each compiles, migrates, and fills the system's caches, so it is not measured.
for (let round = 0; round <= rounds; round += 1)
  for (const way of ways) {
    const measured = await way.start();
    if (round > 0) way.starts.push(measured);
    process.stderr.write(
      `${round === 0 ? 'warm-up' : `round ${round}`}: ${way.title}: ${measured.ms.toFixed(0)} ms\n`,
    );
  }
const about = await machine(database.url());
await database.drop();

function spread(values: number[]): string {
  const sorted = values.toSorted((a, b) => a - b);
  const whole = (value = Number.NaN) => Math.round(value).toLocaleString('en');
  return Number.isNaN(sorted[0])
    ? ''
    : `${whole(sorted[Math.floor(sorted.length / 2)])} (${whole(sorted[0])}–${whole(sorted.at(-1))})`;
}

writeResult(
  'start.md',
  `# Startup time

${today()}, \`make bench-start\`: the time from process start until the service accepts requests, ${rounds} alternating rounds. A cell is
the median, with the minimum and maximum in parentheses. Memory is the resident memory of the process ${SETTLED_MS / 1000} s later, without Postgres.

${about}
- Load average before the run: ${busy.toFixed(1)}

${table(
  ['', 'ms', 'goal, ms', 'memory, MB'],
  ways.map(({ aim, starts, title }) => [
    title,
    spread(starts.map(({ ms }) => ms)),
    aim && `< ${aim}`,
    spread(starts.map(({ megabytes }) => megabytes)),
  ]),
)}

Goal for the memory of an idle process on Postgres: less than 120 MB.
`,
);
process.exit();
