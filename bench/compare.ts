/**
 * `make bench`: the cost of a request to Parley on both databases, compared with peers. `make bench-all` (`ALL=1`) adds rows,
 * and the throughput at a given p99. Settings: `ONLY=name,…` (rows of `compare/rows.ts`), `TARGETS=name,…` (`postgres`,
 * `embedded`, and peers of `compare/peers.ts`), `BENCH_SECONDS` (3, per row, target, and round), and `ROUNDS` (5).
 *
 * Parley runs from `dist` as in production. It, its peers, Postgres, the upstream, and the load client are separate
 * processes on this machine. Each round measures every target once, in a different order. After each measurement of Parley,
 * the charges must equal the responses that the client received, and the audit must be clean. Otherwise, the run is invalid:
 * it writes no results and exits with 1. A run of all rows writes `bench/RESULTS.md` and `bench/results.svg`.
 */
import fs from 'node:fs';
import { loadavg, tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { chart } from './compare/chart.ts';
import { startLoadClient } from './compare/load.ts';
import { FIRST_WARM_UP_MS, measure } from './compare/measure.ts';
import { missingPeers } from './compare/peers.ts';
import { report } from './compare/report.ts';
import { type RowOutcome, rowTable } from './compare/results.ts';
import { type Row, rows } from './compare/rows.ts';
import { startSurroundings } from './compare/surroundings.ts';
import { startTargets } from './compare/targets.ts';
import { machine } from './support/report.ts';

const seconds = Number(process.env.BENCH_SECONDS ?? 3);
const rounds = Number(process.env.ROUNDS ?? 5);
const isAll = process.env.ALL === '1';
const only = process.env.ONLY?.split(',');
const wanted = process.env.TARGETS?.split(',');
/** Finding the capacity takes ten times as long as a measurement. */
const CAPACITY_ROUNDS = 3;
const root = fileURLToPath(new URL('..', import.meta.url));
const say = (text: string) => process.stderr.write(`${text}\n`);

const unknown = only?.filter((name) => !rows.some((row) => row.name === name)) ?? [];
if (unknown.length > 0) {
  say(
    `ONLY names rows that do not exist: ${unknown.join(', ')}. Rows: ${rows.map(({ name }) => name).join(', ')}.`,
  );
  process.exit(1);
}
const selected = rows.filter(({ isExtra, name }) =>
  only === undefined ? isAll || !isExtra : only.includes(name),
);
for (const { program, title } of missingPeers) say(`Skipping ${title}: ${program} is not installed.`);

for (const [signal, code] of [
  ['SIGINT', 130],
  ['SIGTERM', 143],
] as const)
  process.on(signal, () => process.exit(code));
const busy = loadavg()[0] ?? 0;
const surroundings = await startSurroundings(tmpdir());
const client = await startLoadClient();
const problems: string[] = [];

async function compare(row: Row): Promise<RowOutcome> {
  const targets = await startTargets(row, surroundings, wanted);
  const outcomes = targets.map(({ name, title }) => ({
    name,
    title,
    rounds: [] as RowOutcome['outcomes'][0]['rounds'],
  }));
  for (let round = 0; round < rounds; round += 1) {
    for (let turn = 0; turn < targets.length; turn += 1) {
      const index = (turn + round) % targets.length;
      const [target, outcome] = [targets[index], outcomes[index]];
      if (target === undefined || outcome === undefined) continue;
      const { measured, problems: found } = await measure(client, target, row, {
        findsCapacity: isAll && row.hasCapacity === true && round < CAPACITY_ROUNDS,
        warmUpMs: round === 0 ? FIRST_WARM_UP_MS : undefined,
        seconds,
      });
      outcome.rounds.push(measured);
      problems.push(
        ...found.map((problem) => `${row.name}, ${target.title}, round ${round + 1}: ${problem}`),
      );
      say(
        `${row.name}, round ${round + 1}: ${target.title}: ${measured.cpu.toFixed(0)} µs, ${measured.perSecond.toFixed(0)} requests/s`,
      );
    }
  }
  for (const target of targets) await target.stop();
  return { row, outcomes };
}

const results: RowOutcome[] = [];
for (const row of selected) {
  const result = await compare(row);
  results.push(result);
  process.stdout.write(`\n${rowTable(result)}\n\n`);
}
const about = await machine(surroundings.database.url());
client.stop();
await surroundings.stop();

if (problems.length > 0) {
  say(`This run is invalid:\n- ${problems.join('\n- ')}`);
  process.exit(1);
}
if (only === undefined && wanted === undefined) {
  const file = path.join(root, 'bench/RESULTS.md');
  fs.writeFileSync(file, report(results, { about, busy, isAll, rounds, seconds }));
  fs.writeFileSync(path.join(root, 'bench/results.svg'), chart(results));
  say(`Wrote ${file}`);
}
process.exit();
