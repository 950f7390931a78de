/**
 * Finds flaky tests: runs them repeatedly on a busy CPU, many files at a time. One other process per core uses the
 * remaining CPU time. If only a few files run, these processes have the same priority as the tests. `make flaky`, `make
 * flaky ROUNDS=5 FILES='test/config.test.ts test/telemetry/logging.test.ts'`. Ends with `N rounds, M failures`.
 */
import { spawn } from 'node:child_process';
import { availableParallelism, setPriority } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const rounds = Number(process.env.ROUNDS || 20);
const files = (process.env.FILES ?? '').split(/\s+/).filter((name) => name !== '');
if (!Number.isInteger(rounds) || rounds < 1) {
  console.error('ROUNDS must be a whole number of at least 1.');
  process.exit(2);
}

// Each process exits after this process ends, even if it was killed.
const burn = `
  const parent = process.ppid;
  const burn = () => {
    for (const end = Date.now() + 500; Date.now() < end; );
    if (process.ppid === parent) setImmediate(burn);
  };
  burn();`;
const cores = availableParallelism();
const burners = Array.from({ length: cores }, () =>
  spawn(process.execPath, ['-e', burn], { stdio: 'ignore' }),
);
const LOW_PRIORITY = 10;
const FILES_PER_CORE = 3;
if (files.length === 0) for (const { pid } of burners) setPriority(pid, LOW_PRIORITY);

/** Runs the tests once. Returns the files that failed and the names of the failed tests. */
async function round() {
  const run = spawn(
    process.execPath,
    ['--import=ts-blank-space/register', path.join(root, 'test/run.ts'), ...files],
    {
      cwd: root,
      stdio: ['ignore', 'pipe', 'inherit'],
      env: { ...process.env, TEST_PROCESSES: String(FILES_PER_CORE * cores) },
    },
  );
  const failed = [];
  const tests = [];
  createInterface(run.stdout).on('line', (line) => {
    const [, file] = /^✗ (.+?): .*\([\d.]+ s\)$/.exec(line) ?? [];
    if (file !== undefined) failed.push(file);
    else if (line.startsWith('failed: ')) tests.push(line.slice('failed: '.length));
  });
  const code = await new Promise((resolve) => run.on('close', resolve));
  if (code !== 0 && failed.length === 0) failed.push('the run itself');
  return { failed, tests };
}

let failures = 0;
for (let n = 1; n <= rounds; n += 1) {
  const startedAt = Date.now();
  const { failed, tests } = await round();
  const seconds = Math.round((Date.now() - startedAt) / 1000);
  console.log(
    `round ${n} of ${rounds}: ${failed.length === 0 ? 'passed' : `${failed.length} failed`} in ${seconds} s`,
  );
  failures += failed.length;
  for (const file of failed) console.log(`round ${n}: ${file}`);
  for (const test of tests) console.log(`  ${test}`);
}
for (const burner of burners) burner.kill();
console.log(`${rounds} rounds, ${failures} failures`);
process.exitCode = failures > 0 ? 1 : 0;
