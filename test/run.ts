/**
 * Runs the tests with tap and prints a plain summary:
 * `node --import=ts-blank-space/register test/run.ts [--long | --runtime] [files …]`
 *
 * Without arguments, it runs every `.test.ts` in `test`. `--long` runs every `.long.test.ts`, and `--runtime` the files in `runtime`.
 * Prints a line when each file ends, then the failed tests, the skipped tests with their reasons, and finally `N passed, N failed`.
 * `PARLEY_FAIL_ON_SKIP=1` fails the run if a test is skipped. `TEST_PROCESSES` sets the number of processes that run files.
 */
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { sharedPostgres } from './support/databases.ts';
import { midnightIsFar } from './support/midnight.ts';
import { runFiles } from './support/pool.ts';
import { stopPostgresIn } from './support/postgres.ts';
import { Report } from './support/report.ts';
import { beginRun, endRun } from './support/run-folder.ts';

const root = fileURLToPath(new URL('..', import.meta.url));
/** Long tests take minutes. `make test-long` runs them. */
const isLong = (name: string) => name.endsWith('.long.test.ts');
/**
 * Tests of behavior that another version of Node.js or Postgres can break: SQL and its driver, sockets and streams, upstream
 * requests, cryptography, timers, and startup. The rest is plain JavaScript, so a run on one version covers it.
 */
const runtime = [
  'test/start.long.test.ts',
  'test/clients/openai.test.ts',
  'test/database/',
  'test/ledger/ledger.test.ts',
  'test/jobs/maintenance.test.ts',
  'test/domain/passwords.test.ts',
  'test/engines/upstream/',
  'test/plugins/bodies.test.ts',
  'test/plugins/body-budget.test.ts',
  'test/plugins/framing.test.ts',
  'test/plugins/sessions.test.ts',
  'test/reliability/carried-usage.test.ts',
  'test/reliability/ceiling.long.test.ts',
  'test/reliability/large-bodies.test.ts',
  'test/requests/',
  'test/routes/chat-stream.test.ts',
  'test/routes/completions-stream.test.ts',
  'test/routes/events.test.ts',
  'test/routes/idempotency.test.ts',
  'test/routes/search.test.ts',
  'test/process/trim-memory.test.ts',
  'test/routes/sessions.test.ts',
  'test/routes/stream-limits.test.ts',
  'test/sdk/',
  'test/store/',
];
/** These measure the memory or the CPU time of their process, so no other file may run in it. */
const ofOwnProcess = [
  'test/requests/merged-chunks.test.ts',
  'test/engines/upstream/back-pressure.long.test.ts',
  'test/engines/upstream/endless.long.test.ts',
  'test/limits/memory-windows.test.ts',
  'test/reliability/endless-answers.long.test.ts',
];
/**
 * These measure CPU time, which rises when other files compete for caches and memory, or depend on a deadline of one second.
 * They run last, one at a time.
 */
const ofOwnMachine = [
  'test/bodies/blocks.test.ts',
  'test/bodies/write-in-slices.test.ts',
  'test/reliability/large-bodies.test.ts',
  'test/reliability/large-embeddings.long.test.ts',
  'test/reliability/search-cost.test.ts',
  'test/routes/chat-cancel.test.ts',
  'test/routes/stop-deadline.long.test.ts',
];
/** These take longest, so they start first. Otherwise, one of them would run alone at the end. */
const longest = [
  'test/browser/pages.long.test.ts',
  'test/reliability/ceiling.long.test.ts',
  'test/upstreams/routing.test.ts',
  'test/agents/agents.long.test.ts',
  'test/browser/dashboard-chat-faults.long.test.ts',
  'test/browser/reference.long.test.ts',
  'test/reliability/secrets.long.test.ts',
  'test/snippets/snippets.long.test.ts',
  'test/snippets/starts.long.test.ts',
];
/** Twice the number of processors in CI, because tests spend much of their time waiting. */
const PROCESSES = 4;
const started = Date.now();

const args = process.argv.slice(2);
const long = args.includes('--long');
const isRuntime = args.includes('--runtime');
const named = args.filter((arg) => !arg.startsWith('-'));
const files = named.length > 0 ? named : testFiles();
if (files.length === 0) {
  console.log('There is no such test file.\n0 passed, 0 failed');
  process.exit(long ? 0 : 1);
}

// Tests start processes from the build output.
execFileSync(process.execPath, ['tools/prepare.mjs', 'serve'], { cwd: root, stdio: 'inherit' });
const report = new Report();
const run = beginRun(process.pid);
const { dataDir, description } = await sharedPostgres();
console.log(`Node ${process.version}, Postgres ${description}`);
await runFiles(files, report, {
  root,
  processes: Number(process.env.TEST_PROCESSES || PROCESSES),
  fileTimeoutMs: files.some(isLong) ? 5_000_000 : 600_000,
  needs: (file) =>
    ofOwnMachine.includes(file) ? 'machine' : ofOwnProcess.includes(file) ? 'process' : 'nothing',
  ready: midnightIsFar,
});
await stopPostgresIn(dataDir);
endRun(run);
process.exitCode = report.finish({
  seconds: (Date.now() - started) / 1000,
  failOnSkip: process.env.PARLEY_FAIL_ON_SKIP === '1',
});

function testFiles(): string[] {
  const all = fs
    .readdirSync(path.join(root, 'test'), { recursive: true, encoding: 'utf8' })
    .map((name) => `test/${name.replaceAll('\\', '/')}`)
    .filter((name) => name.endsWith('.test.ts') && !name.includes('/node_modules/'))
    .sort()
    .sort((one, other) => Number(longest.includes(other)) - Number(longest.includes(one)));
  if (!isRuntime) return all.filter((name) => isLong(name) === long);
  return runtime.flatMap((place) => {
    const found = all.filter((name) => name === place || (name.startsWith(place) && !isLong(name)));
    if (found.length === 0) throw new Error(`There is no test in ${place}: see \`runtime\` in test/run.ts.`);
    return found;
  });
}
