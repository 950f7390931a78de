/** Runs `npx parley` as an operator does. */
import { execFile } from 'node:child_process';
import { builtProgram } from './loader.ts';

export type Outcome = { code: number; stdout: string; stderr: string };

/** Runs a command in a new process, with only `env` and `PATH` in its environment. */
export const parley = (env: Record<string, string>, ...args: string[]): Promise<Outcome> =>
  new Promise((resolve) => {
    execFile(
      process.execPath,
      [builtProgram('commands/parley'), ...args],
      { env: { PATH: process.env.PATH, ...env } },
      (error, stdout, stderr) =>
        resolve({ code: typeof error?.code === 'number' ? error.code : 0, stdout, stderr }),
    );
  });
