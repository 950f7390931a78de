/** Runs in the network that `run.ts` creates. Starts the cluster, injects faults under load, and prints the results. */
import fs from 'node:fs';
import path from 'node:path';
import { startCluster } from './cluster.ts';
import { type Fault, faults } from './faults.ts';
import { columns, measure } from './measure.ts';

const [prefix, folder, ...args] = process.argv.slice(2) as [string, string, ...string[]];
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => process.exit(1));

const soakAt = args.indexOf('--soak');
const soakSeconds = soakAt === -1 ? 0 : Number(args.splice(soakAt, 2)[1]);
const unknown = args.filter((name) => faults.every((fault) => fault.name !== name));
if (unknown.length > 0 || Number.isNaN(soakSeconds)) {
  console.error(
    `Unknown fault: ${unknown.join(', ')}. Use one of: ${faults.map(({ name }) => name).join(', ')}.`,
  );
  process.exit(2);
}
const chosen = faults
  .filter(({ name }) => args.length === 0 || args.includes(name))
  .filter(({ isLast }) => !isLast || soakSeconds === 0);

function* atRandom(): Generator<Fault> {
  const end = performance.now() + soakSeconds * 1000;
  while (performance.now() < end) yield chosen[Math.floor(Math.random() * chosen.length)] as Fault;
}

const startedAt = performance.now();
const cluster = await startCluster({ prefix, folder });
console.log(`The cluster started in ${((performance.now() - startedAt) / 1000).toFixed(1)} s.`);
console.log(columns());
let wrong = 0;
for (const fault of soakSeconds > 0 ? atRandom() : chosen) {
  try {
    const { answers, fired, problems, row } = await measure(cluster, fault);
    console.log(row);
    if (fired.length > 0) console.log(`  alerts: ${fired.join(', ')}`);
    if (process.env.CLUSTER_LOGS) console.log(`  ${JSON.stringify(answers)}`);
    for (const problem of problems.slice(0, 20)) console.log(`  ${problem}`);
    if (problems.length > 20) console.log(`  and ${problems.length - 20} more`);
    if (problems.length > 0) wrong += 1;
  } catch (error) {
    // The cluster is broken, so another fault would prove nothing.
    console.log(`${fault.name}: ${error instanceof Error ? error.message : error}`);
    wrong += 1;
    break;
  }
}
for (const [n, { log }] of cluster.replicas.entries())
  fs.writeFileSync(path.join(folder, 'logs', `app${n + 1}.log`), log);
console.log(wrong === 0 ? 'Nothing was lost or overspent.' : `${wrong} faults did damage.`);
process.exit(wrong === 0 ? 0 : 1);
