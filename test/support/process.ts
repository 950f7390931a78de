/** Runs the service in its own process, for tests of signals, exit codes, and output. */

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { Test } from 'tap';
import { builtProgram, nodeWithoutTap, typescriptLoader } from './loader.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));

export type ServiceProcess = {
  child: ChildProcess;
  port: number;
  origin: string;
  /** Everything that the process has printed so far, on both streams. */
  output(): string;
  /** Sends a signal, by default SIGTERM, and waits for the process to exit. */
  end(signal?: NodeJS.Signals): Promise<{ code: number | null; signal: NodeJS.Signals | null }>;
};

/**
 * Starts the service without waiting for it. It is killed when the test ends.
 *
 * @param preloaded - the URL of a module to load before the service's code
 */
export function launch(t: Test, env: Record<string, string>, preloaded?: string) {
  const imports = preloaded === undefined ? [] : [typescriptLoader, `--import=${preloaded}`];
  const child = spawn(...nodeWithoutTap(...imports, builtProgram('main')), {
    cwd: root,
    env: { PATH: process.env.PATH, HOME: process.env.HOME, PORT: '0', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  child.stdout.on('data', (data) => {
    output += data;
  });
  child.stderr.on('data', (data) => {
    output += data;
  });
  t.teardown(() => child.kill('SIGKILL'));
  return { child, output: () => output };
}

/** Runs a service that is expected not to start. Returns its exit code and its output. */
export async function failToStart(
  t: Test,
  env: Record<string, string>,
): Promise<{ code: number | null; output: string }> {
  const { child, output } = launch(t, env);
  const [code] = await once(child, 'close');
  return { code, output: output() };
}

/** Starts the service, and waits until it listens. See `launch`. */
export async function startProcess(
  t: Test,
  env: Record<string, string>,
  preloaded?: string,
): Promise<ServiceProcess> {
  const { child, output } = launch(t, env, preloaded);
  const port = await new Promise<number>((resolve, reject) => {
    const look = () => {
      const [, found] = /Parley is running at http:\/\/[^:\s]+:(\d+)/.exec(output()) ?? [];
      if (found !== undefined) resolve(Number(found));
    };
    child.stderr.on('data', look);
    child.once('exit', (code) => reject(new Error(`The service ended with ${code}:\n${output()}`)));
  });
  return {
    child,
    port,
    origin: `http://127.0.0.1:${port}`,
    output,
    end: async (signal = 'SIGTERM') => {
      child.kill(signal);
      const [code, by] =
        child.exitCode === null && child.signalCode === null
          ? await once(child, 'exit')
          : [child.exitCode, child.signalCode];
      return { code, signal: by };
    },
  };
}
