/** Runs test files in a few processes, each of which runs many files. */
import { type ChildProcess, spawn } from 'node:child_process';
import { Parser } from 'tap-parser';
import type { Order } from './pool-process.ts';
import type { Report } from './report.ts';

export type PoolOptions = {
  root: string;
  processes: number;
  fileTimeoutMs: number;
  /** What the file needs exclusively: nothing, a process, or the whole machine. */
  needs: (file: string) => 'nothing' | 'process' | 'machine';
  /** Resolves when the next file may start. */
  ready?: () => Promise<void>;
};

/** The time within which a process must exit after its last test. */
const EXIT_MS = 30_000;

/** Runs every file, and reports each when it ends. A process whose file failed runs no further files. */
export async function runFiles(
  files: readonly string[],
  report: Report,
  options: PoolOptions,
): Promise<void> {
  const thatNeed = (need: ReturnType<PoolOptions['needs']>) =>
    files.filter((file) => options.needs(file) === need);
  const [shared, ownProcess, ownMachine] = [thatNeed('nothing'), thatNeed('process'), thatNeed('machine')];
  const runAlone = async (queue: string[]) => {
    for (let file = queue.shift(); file !== undefined; file = queue.shift()) {
      const only = [file];
      await runProcess(() => only.shift(), report, options);
    }
  };
  const runQueue = async () => {
    while (shared.length > 0) await runProcess(() => shared.shift(), report, options);
    await runAlone(ownProcess);
  };
  await Promise.all(Array.from({ length: options.processes }, runQueue));
  await runAlone(ownMachine);
}

/** Starts a process, and sends it files until none is left or one fails. Resolves when the process has exited. */
async function runProcess(
  next: () => string | undefined,
  report: Report,
  { fileTimeoutMs, ready, root }: PoolOptions,
): Promise<void> {
  const child = spawn(
    process.execPath,
    ['--enable-source-maps', '--import=./test/support/typescript.mjs', 'test/support/pool-process.ts'],
    { cwd: root, stdio: ['ignore', 'pipe', 'inherit', 'ipc'] },
  );
  let running: string | undefined;
  let hasFailed = false;
  const parser = new Parser();
  report.follow(parser, (isOk) => {
    running = undefined;
    hasFailed ||= !isOk;
  });
  child.stdout?.pipe(parser);
  child.on('message', async (message) => {
    // tap sends other messages.
    if (message !== 'next') return;
    const file = hasFailed ? undefined : next();
    running = file;
    if (file !== undefined) await ready?.();
    child.send(file === undefined ? 'end' : ({ file, timeoutMs: fileTimeoutMs } satisfies Order));
    if (file === undefined) expectExit(child, report);
  });
  const [code, signal] = await new Promise<[number | null, NodeJS.Signals | null]>((resolve) => {
    child.on('close', (...ending) => resolve(ending));
  });
  if (running !== undefined) report.lost(running, `its process ended with ${signal ?? `exit code ${code}`}`);
}

function expectExit(child: ChildProcess, report: Report): void {
  const overdue = setTimeout(() => {
    report.lost(
      'a test process',
      `it did not exit within ${EXIT_MS / 1000} s of its last test: a test left something open`,
    );
    child.kill('SIGKILL');
  }, EXIT_MS);
  child.once('close', () => clearTimeout(overdue));
}
