/**
 * `make profile ROW=proxy-1k`: a CPU profile and an allocation profile of Parley under a row of `make bench`, in
 * `.prepare/profiles`. Chrome DevTools opens both. Settings: `DATABASE=postgres|embedded`, `BENCH_SECONDS` (5), and
 * `CONNECTIONS` (32).
 * Prints the modules and functions with the most self time, and those that allocated the most memory, freed or not.
 */
import fs from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { startLoadClient } from './compare/load.ts';
import { CONNECTIONS, FIRST_WARM_UP_MS, loadOf } from './compare/measure.ts';
import { byModule, type Cost, readCpuProfile, readHeapProfile } from './compare/profiles.ts';
import { rows } from './compare/rows.ts';
import { startSurroundings } from './compare/surroundings.ts';
import { type DatabaseKind, startParley } from './compare/targets.ts';
import { table } from './support/report.ts';

const FUNCTIONS = 25;
const MODULES = 20;
const seconds = Number(process.env.BENCH_SECONDS ?? 5);
const connections = Number(process.env.CONNECTIONS ?? CONNECTIONS);
const kind: DatabaseKind = process.env.DATABASE === 'embedded' ? 'embedded' : 'postgres';
const root = fileURLToPath(new URL('..', import.meta.url));
const profiler = new URL('./compare/profiler.ts', import.meta.url).href;
const row = rows.find(({ name }) => name === process.env.ROW);
if (row === undefined) {
  process.stderr.write(`Set ROW to one of ${rows.map(({ name }) => name).join(', ')}.\n`);
  process.exit(1);
}
for (const [signal, code] of [
  ['SIGINT', 130],
  ['SIGTERM', 143],
] as const)
  process.on(signal, () => process.exit(code));

const folder = path.join(root, '.prepare/profiles');
fs.mkdirSync(folder, { recursive: true });
const surroundings = await startSurroundings(tmpdir());
const client = await startLoadClient();

/** Profiles Parley under load. Returns the file and the number of requests served. */
async function profile(what: 'cpu' | 'heap'): Promise<{ file: string; answered: number }> {
  const file = path.join(folder, `${row?.name}-${kind}.${what}profile`);
  fs.rmSync(file, { force: true });
  const parley = await startParley(kind, row as NonNullable<typeof row>, surroundings, {
    nodeOptions: ['--import=ts-blank-space/register', `--import=${profiler}`],
    // A bundle has no modules to report.
    program: 'src/main.ts',
    env: { PROFILE: what, PROFILE_FILE: file },
  });
  const load = { ...loadOf(parley, row as NonNullable<typeof row>), connections };
  const signal = () => process.kill(parley.trees.node as number, 'SIGIO');
  await client.run({ ...load, warmUpMs: 0, measureMs: FIRST_WARM_UP_MS });
  signal();
  const { delivered, failures } = await client.run({ ...load, warmUpMs: 0, measureMs: seconds * 1000 });
  signal();
  while (!fs.existsSync(file)) await sleep(50);
  await parley.stop();
  if (Object.keys(failures).length > 0) throw new Error(`The load failed: ${JSON.stringify(failures)}`);
  return { file, answered: delivered };
}

function print(title: string, unit: string, costs: Cost[], answered: number, file: string): void {
  const all = costs.reduce((sum, { self }) => sum + self, 0);
  const amount = (self: number) => [
    ((1000 * self) / answered).toFixed(2),
    `${((100 * self) / all).toFixed(1)} %`,
  ];
  const lines = costs.slice(0, FUNCTIONS).map(({ name, place, self }) => [name, place, ...amount(self)]);
  const modules = byModule(costs)
    .slice(0, MODULES)
    .map(({ name, self }) => [name, ...amount(self)]);
  const perRequest = `${((1000 * all) / answered).toFixed(1)} ${unit} per request, ${answered} requests`;
  process.stdout.write(
    `\n## ${row?.name}, ${kind}: ${title}: ${perRequest}\n\n${table(['module', unit, 'share'], modules)}\n\n${table(['function', 'at', unit, 'share'], lines)}\n\n${file}\n`,
  );
}

const cpu = await profile('cpu');
print('self time on the main thread', 'µs', readCpuProfile(cpu.file, root), cpu.answered, cpu.file);
const heap = await profile('heap');
print('allocations', 'bytes', readHeapProfile(heap.file, root), heap.answered, heap.file);
client.stop();
await surroundings.stop();
process.exit();
