/**
 * Runs the tests with tap and says plainly how it went:
 * `node --import=ts-blank-space/register test/run.ts [--long] [files or tap options …]`
 *
 * Without files: every `.test.ts` in `test`; or, with `--long`, every `.long.test.ts`.
 * Prints a line for each file as it ends, then what failed and what was skipped and why, and last `N passed, N failed`.
 * `PARLEY_FAIL_ON_SKIP=1` makes a skipped test a failure of the run.
 */
import { spawn } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { Parser } from 'tap-parser';
import { Report } from './support/report.ts';

const root = fileURLToPath(new URL('..', import.meta.url));
/** They take minutes: `make test-long`. */
const isLong = (name: string) => name.endsWith('.long.test.ts');
const started = Date.now();

const args = process.argv.slice(2);
const long = args.includes('--long');
const options = args.filter((arg) => arg.startsWith('-') && arg !== '--long');
const named = args.filter((arg) => !arg.startsWith('-'));
const files = named.length > 0 ? named : testFiles();
if (files.length === 0) {
  console.log('There is no such test file.\n0 passed, 0 failed');
  process.exit(long ? 0 : 1);
}

const report = new Report();
const parser = new Parser();
report.follow(parser);
const tap = spawn(
  process.execPath,
  [
    path.join(root, 'node_modules/.bin/tap'),
    'run',
    '--reporter=tap',
    '--disable-coverage',
    ...(long ? ['--timeout=1800'] : []),
    ...options,
    ...files,
  ],
  { cwd: root, stdio: ['ignore', 'pipe', 'inherit'] },
);
tap.stdout.pipe(parser);
const [code, signal] = await new Promise<[number | null, NodeJS.Signals | null]>((resolve) => {
  tap.on('close', (...ending) => resolve(ending));
});

process.exitCode = report.finish({
  tapEnded: code === 0 ? 'well' : `with ${signal ?? `exit code ${code}`}`,
  seconds: (Date.now() - started) / 1000,
  failOnSkip: process.env.PARLEY_FAIL_ON_SKIP === '1',
});

function testFiles(): string[] {
  return fs
    .readdirSync(path.join(root, 'test'), { recursive: true, encoding: 'utf8' })
    .map((name) => `test/${name.replaceAll('\\', '/')}`)
    .filter((name) => name.endsWith('.test.ts') && !name.includes('/node_modules/'))
    .filter((name) => isLong(name) === long)
    .sort();
}
