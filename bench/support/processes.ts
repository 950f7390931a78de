/** The processes of a benchmark, and their CPU and memory use. */
import { type ChildProcess, fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import path from 'node:path';
import type { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import type { FromClient, Load, LoadResult } from './load.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const TICKS_PER_SECOND = 100;

export type ServiceProcess = { origin: string; pid: number; stop(): Promise<void> };

/**
 * Starts the service like `make start`. It logs to a file, as under a supervisor.
 *
 * @param env - settings that differ from the defaults
 * @param nodeOptions - such as `--cpu-prof`
 * @param program - `src/main.ts` with a loader in `nodeOptions`, for profiles that name the sources
 */
export async function startServiceProcess(
  env: Record<string, string>,
  nodeOptions: string[] = [],
  program = 'dist/src/main.js',
): Promise<ServiceProcess> {
  const folder = fs.mkdtempSync(path.join(root, '.prepare/bench-'));
  const log = fs.openSync(path.join(folder, 'log'), 'a');
  const child = spawn(process.execPath, [...nodeOptions, program], {
    cwd: root,
    env: { PATH: process.env.PATH, PORT: '0', DATA_DIR: folder, CALLS_PER_ACCOUNT: '100000', ...env },
    stdio: ['ignore', log, 'pipe'],
  });
  fs.closeSync(log);
  // Cleans up after a benchmark that fails.
  const kill = () => child.kill('SIGKILL');
  process.once('exit', kill);
  const errors = child.stderr as Readable;
  let said = '';
  errors.setEncoding('utf8').on('data', (text: string) => {
    said += text;
  });
  const origin = await new Promise<string>((resolve, reject) => {
    errors.on('data', () => {
      const [, port] = /is running at http:\/\/localhost:(\d+)/.exec(said) ?? [];
      if (port !== undefined) resolve(`http://127.0.0.1:${port}`);
    });
    child.once('exit', () => reject(new Error(`The service did not start:\n${said}`)));
  });
  return {
    origin,
    pid: child.pid as number,
    async stop() {
      await end(child);
      process.off('exit', kill);
      fs.rmSync(folder, { recursive: true, force: true });
    },
  };
}

export type LoadClient = { pid: number; run(load: Load): Promise<LoadResult>; stop(): Promise<void> };

export async function startLoadClient(): Promise<LoadClient> {
  const child = fork(fileURLToPath(new URL('../stream-client.ts', import.meta.url)), {
    cwd: root,
    execArgv: ['--import=ts-blank-space/register'],
  });
  const ended = once(child, 'exit').then(() => Promise.reject(new Error('The load client exited.')));
  ended.catch(() => {});
  const answer = async () => {
    const [message] = (await Promise.race([once(child, 'message'), ended])) as [FromClient];
    return message;
  };
  await answer();
  return {
    pid: child.pid as number,
    async run(load) {
      child.send(load);
      return (await answer()) as LoadResult;
    },
    stop: () => end(child),
  };
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill('SIGTERM');
  await once(child, 'exit');
}

/** The CPU seconds that a process has used, or NaN on a system without `/proc`. */
export function cpuSeconds(pid: number): number {
  try {
    const fields = fs.readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
    return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND;
  } catch {
    return Number.NaN;
  }
}

/** Current and peak resident memory in megabytes (10^6 bytes), or NaN on a system without `/proc`. */
export function memoryMegabytes(pid: number): { now: number; peak: number } {
  const read = (status: string, name: string) =>
    (Number(new RegExp(`${name}:\\s+(\\d+) kB`).exec(status)?.[1]) * 1024) / 1e6;
  try {
    const status = fs.readFileSync(`/proc/${pid}/status`, 'utf8');
    return { now: read(status, 'VmRSS'), peak: read(status, 'VmHWM') };
  } catch {
    return { now: Number.NaN, peak: Number.NaN };
  }
}
