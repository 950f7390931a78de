import { spawn } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../..', import.meta.url));
const states = path.join(root, '.tap/run');

/**
 * A test run: the process that lives as long as the run, a folder for databases, and the shared Postgres once it
 * starts.
 */
export type TestRun = { runner: number; folder: string; postgres?: PostgresAddress };

export type PostgresAddress = {
  port: number;
  /** The major version, such as 15. */
  version: number;
  /** The version and kind, such as `15.10, system` or `18.4, embedded`. */
  description: string;
  dataDir: string;
  socketDir: string;
};

/** The folder for test databases: in memory on Linux, if there is enough, because they are many short-lived files. */
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
 * Starts a run that lasts as long as the process `runner`. After that process exits, even if it is killed, a shell
 * stops every Postgres whose data folder is in the run's folder (or linked from it), and removes the folder.
 */
export function beginRun(runner: number): TestRun {
  const folder = fs.mkdtempSync(path.join(placeForDatabases(), 'parley-test-'));
  // If the tests run as root, Postgres runs as another user, which must be able to reach its data folder.
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

/** Saves a run, so that the processes that `runner` starts can read it. */
export function saveRun(run: TestRun): void {
  fs.mkdirSync(states, { recursive: true });
  fs.writeFileSync(stateFile(run.runner), JSON.stringify(run));
}

/** The run that this process belongs to. If it has none, because plain `node` runs a file, starts one. */
export function currentRun(): TestRun {
  return readRun(process.ppid) ?? readRun(process.pid) ?? beginRun(process.pid);
}

/** Removes the files of a run. Stop its servers first. */
export function endRun(run: TestRun): void {
  fs.rmSync(run.folder, { recursive: true, force: true });
  fs.rmSync(stateFile(run.runner), { force: true });
}

/** The run of a process, or undefined if there is none. */
export function readRun(runner: number): TestRun | undefined {
  try {
    const run: TestRun = JSON.parse(fs.readFileSync(stateFile(runner), 'utf8'));
    return fs.existsSync(run.folder) ? run : undefined;
  } catch {
    return undefined;
  }
}

const stateFile = (runner: number) => path.join(states, `${runner}.json`);
