/** The messages to and from the load client, and the function that starts it. */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { Spread } from '../support/load.ts';

export type Load = {
  port: number;
  /** Complete HTTP requests, sent in turn. */
  requests: string[];
  connections: number;
  warmUpMs: number;
  measureMs: number;
  /** The last bytes of a complete response, if known. */
  ending: string | undefined;
  /** Roots of process trees by name. */
  trees: Record<string, number>;
};

export type LoadResult = {
  /** Responses with status 200 within the measured time. */
  answered: number;
  /** The measured time, in milliseconds. */
  tookMs: number;
  latency: Spread;
  /** Time to the first byte of the body. */
  firstByte: Spread;
  /** CPU time of each tree within the measured time, in milliseconds. */
  cpuMs: Record<string, number>;
  /** Responses with status 200 at any time, including the warm-up. */
  delivered: number;
  /** All other outcomes by kind, at any time. */
  failures: Record<string, number>;
};

export type LoadClient = { run(load: Load): Promise<LoadResult>; stop(): void };

/** Starts the load client in a separate process, so that its CPU time is not counted. */
export async function startLoadClient(): Promise<LoadClient> {
  const child = fork(fileURLToPath(new URL('./load-client.ts', import.meta.url)), {
    execArgv: ['--import=ts-blank-space/register'],
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  const ended = once(child, 'exit').then(() => Promise.reject(new Error('The load client exited.')));
  ended.catch(() => {});
  return {
    async run(load) {
      const answer = once(child, 'message');
      child.send(load);
      const [result] = (await Promise.race([answer, ended])) as [LoadResult];
      return result;
    },
    stop: () => child.disconnect(),
  };
}
