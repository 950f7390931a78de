/**
 * `make bench-workers`: 1, 2, and 4 workers on one Postgres. Settings: `WORKERS` (1,2,4), `ROUNDS` (5), `BENCH_SECONDS` (3),
 * `ROW` (proxy-1k), a row of `compare/rows.ts`. Each round measures every service once, in a different order. After each
 * measurement, the charges must equal the responses that the client received, and the audit must be clean. Otherwise, the run is
 * invalid: it writes no results and exits with 1. Prints the result and writes it to `results/workers.md`.
 */
import { availableParallelism, loadavg, tmpdir } from 'node:os';
import { startLoadClient } from './compare/load.ts';
import { CONNECTIONS, type Measured, measure } from './compare/measure.ts';
import { rows } from './compare/rows.ts';
import { startSurroundings } from './compare/surroundings.ts';
import { startParley, type Target } from './compare/targets.ts';
import { machine, ms, table, today, writeResult } from './support/report.ts';

/** The warm-up per worker: V8 compiles in each, and each of four workers gets a quarter of the requests. */
const WARM_UP_MS = 15_000;

const counts = (process.env.WORKERS ?? '1,2,4').split(',').map(Number);
const rounds = Number(process.env.ROUNDS ?? 5);
const seconds = Number(process.env.BENCH_SECONDS ?? 3);
const row = rows.find(({ name }) => name === (process.env.ROW ?? 'proxy-1k'));
if (row === undefined) throw new Error('ROW must name a row of bench/compare/rows.ts.');

const busy = loadavg()[0] ?? 0;
const surroundings = await startSurroundings(tmpdir());
const client = await startLoadClient();
const services: { workers: number; target: Target; measured: Measured[] }[] = [];
for (const workers of counts) {
  const env = { WORKERS: String(workers) };
  services.push({ workers, target: await startParley('postgres', row, surroundings, { env }), measured: [] });
}
const problems: string[] = [];
for (let round = 0; round < rounds; round += 1) {
  for (const { measured, target, workers } of round % 2 === 0 ? services : services.toReversed()) {
    const warmUpMs = round === 0 ? WARM_UP_MS * workers : undefined;
    const result = await measure(client, target, row, { seconds, warmUpMs });
    measured.push(result.measured);
    problems.push(...result.problems.map((problem) => `${workers} workers, round ${round + 1}: ${problem}`));
    const { cpu, perSecond } = result.measured;
    process.stderr.write(
      `round ${round + 1}, ${workers} workers: ${cpu.toFixed(0)} µs, ${perSecond.toFixed(0)} requests/s\n`,
    );
  }
}
const about = await machine(surroundings.database.url());
for (const { target } of services) await target.stop();
client.stop();
await surroundings.stop();
if (problems.length > 0) {
  process.stderr.write(`This run is invalid:\n- ${problems.join('\n- ')}\n`);
  process.exit(1);
}

/** The median, with the minimum and maximum. */
function spread(values: number[], write: (value: number) => string): string {
  const sorted = values.toSorted((a, b) => a - b);
  const at = (index: number) => write(sorted[index] ?? Number.NaN);
  return `${at(Math.floor(sorted.length / 2))} (${at(0)}–${at(sorted.length - 1)})`;
}
const whole = (value: number) => Math.round(value).toLocaleString('en');

writeResult(
  'workers.md',
  `# Effect of more workers

${today()}, \`make bench-workers\`: ${row.title}, with a key; ${CONNECTIONS} connections, ${rounds} interleaved rounds of ${seconds} s, then one connection.
Before the first round, ${WARM_UP_MS / 1000} s of load per worker.

${about}
- Load average before the run: ${busy.toFixed(1)}

${table(
  ['workers', 'requests/s', 'p99, ms', 'CPU, µs/request', 'of which Postgres', 'one connection, p50, ms'],
  services.map(({ measured, workers }) => [
    String(workers),
    spread(
      measured.map(({ perSecond }) => perSecond),
      whole,
    ),
    spread(
      measured.map(({ p99 }) => p99),
      ms,
    ),
    spread(
      measured.map(({ cpu }) => cpu),
      whole,
    ),
    spread(
      measured.map(({ postgresCpu }) => postgresCpu),
      whole,
    ),
    spread(
      measured.map(({ single }) => single),
      ms,
    ),
  ]),
)}

A cell is the median of the rounds, with the minimum and maximum in parentheses. CPU is that of all service
processes, including the primary, and of Postgres. The load client, the upstream, Postgres, and the workers share ${availableParallelism()} CPUs, so throughput stops growing once
these are saturated. After each measurement, the number of responses equaled the number of charges, and the audit was clean.
`,
);
process.exit();
