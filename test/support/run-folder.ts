import { spawn } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../..', import.meta.url));
const states = path.join(root, '.tap/run');

/** What a test run has of its own: a folder for databases and, once started, the Postgres that all test files share. */
export type TestRun = { runner: number; folder: string; postgres?: PostgresAddress };

export type PostgresAddress = {
  port: number;
  /** Major version, such as 15. */
  version: number;
  /** `15.10, system` or `18.4, embedded`. */
  description: string;
  dataDir: string;
  socketDir: string;
};

/** Databases of tests are hundreds of small files that live for seconds: in memory, where there is enough of it (Linux). */
function placeForDatabases(): string {
  const memory = '/dev/shm';
  try {
    fs.accessSync(memory, fs.constants.W_OK | fs.constants.X_OK);
    const { bavail, bsize } = fs.statfsSync(memory);
    return bavail * bsize >= 4 * 2 ** 30 ? memory : os.tmpdir();
  } catch {
    return os.tmpdir();
  }
}

/**
 * Begins a run that lives as long as the process `runner`: a shell that outlives it stops every Postgres whose data folder
 * lies (or is linked) in the run's folder and removes the folder, so that killed test runs leave nothing behind.
 */
export function beginRun(runner: number): TestRun {
  const folder = fs.mkdtempSync(path.join(placeForDatabases(), 'parley-test-'));
  // Postgres runs as another user when the tests run as root, and has to get through to its data folder.
  fs.chmodSync(folder, 0o755);
  const watch = `
    while kill -0 "$1" 2>/dev/null; do sleep 1; done
    for file in "$2"/*/postmaster.pid; do
      [ -f "$file" ] && server=$(head -n 1 "$file") && kill -QUIT "$server" && kill -CONT "$server"
    done 2>/dev/null
    for wait in 1 2 3; do rm -rf "$2" "$3" 2>/dev/null && break; sleep 1; done`;
  spawn('/bin/sh', ['-c', watch, 'watch', String(runner), folder, stateFile(runner)], {
    detached: true,
    stdio: 'ignore',
    cwd: '/',
  }).unref();
  const run = { runner, folder };
  saveRun(run);
  return run;
}

/** Makes a run known to the processes that `runner` starts. */
export function saveRun(run: TestRun): void {
  fs.mkdirSync(states, { recursive: true });
  fs.writeFileSync(stateFile(run.runner), JSON.stringify(run));
}

/** The run that this process belongs to: tap's, or, for a file run by plain `node`, one of its own. */
export function currentRun(): TestRun {
  return readRun(process.ppid) ?? readRun(process.pid) ?? beginRun(process.pid);
}

/** Removes what a run has left; its servers must have been stopped. */
export function endRun(run: TestRun): void {
  fs.rmSync(run.folder, { recursive: true, force: true });
  fs.rmSync(stateFile(run.runner), { force: true });
}

export function readRun(runner: number): TestRun | undefined {
  try {
    const run: TestRun = JSON.parse(fs.readFileSync(stateFile(runner), 'utf8'));
    return fs.existsSync(run.folder) ? run : undefined;
  } catch {
    return undefined;
  }
}

const stateFile = (runner: number) => path.join(states, `${runner}.json`);
