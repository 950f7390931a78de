/**
 * `make cluster-test` and `make cluster-soak`: creates the network, runs `main.ts` in it, and always cleans up.
 *
 *     node --import=ts-blank-space/register test/cluster/run.ts [--soak SECONDS] [names of faults]
 */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { typescriptLoader } from '../support/loader.ts';
import { makeNetwork, namespaceOf } from './network.ts';
import { missing } from './packages.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const cleanUp = fileURLToPath(new URL('./clean-up.sh', import.meta.url));

const problem = missing();
if (problem !== undefined) {
  console.error(problem);
  process.exit(1);
}

const prefix = `parley-${process.pid}`;
// Postgres writes a lot, and its data must survive crashes of processes, but not of the machine.
const folder = fs.mkdtempSync(path.join(fs.existsSync('/dev/shm') ? '/dev/shm' : os.tmpdir(), `${prefix}-`));
// Postgres runs as another user, which must be able to reach its data.
fs.chmodSync(folder, 0o755);
spawn('/bin/sh', [cleanUp, prefix, folder, String(process.pid)], {
  detached: true,
  stdio: 'ignore',
  cwd: '/',
}).unref();

let code = 1;
try {
  makeNetwork(prefix);
  const child = spawn(
    'ip',
    [
      ...['netns', 'exec', namespaceOf(prefix, 'test'), process.execPath, typescriptLoader],
      ...['test/cluster/main.ts', prefix, folder, ...process.argv.slice(2)],
    ],
    { cwd: root, stdio: 'inherit' },
  );
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => child.kill(signal));
  const [status] = (await once(child, 'exit')) as [number | null];
  code = status ?? 1;
} finally {
  const logs = process.env.CLUSTER_LOGS;
  if (logs) fs.cpSync(path.join(folder, 'logs'), logs, { recursive: true });
  spawnSync('/bin/sh', [cleanUp, prefix, folder], { stdio: 'inherit' });
}
process.exit(code);
