/** The messages to and from the load client, and the function that starts it. */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { Spread } from '../support/load.ts';

export type Load = {
  port: number;
  /** Complete HTTP requests, each one sent in turn. */
  requests: string[];
  connections: number;
  warmUpMs: number;
  measureMs: number;
  /** What a complete answer ends with, if that is known. */
  ending: string | undefined;
  /** Roots of process trees by name. */
  trees: Record<string, number>;
};

export type LoadResult = {
  /** Answers with status 200 that arrived in the measured time. */
  answered: number;
  /** Milliseconds that were measured. */
  tookMs: number;
  latency: Spread;
  /** Until the first byte of the body. */
  firstByte: Spread;
  /** CPU milliseconds of each tree in the measured time. */
  cpuMs: Record<string, number>;
  /** Answers with status 200 at any time, warm-up included. */
  delivered: number;
  /** Anything else, by kind, at any time. */
  failures: Record<string, number>;
};

export type LoadClient = { run(load: Load): Promise<LoadResult>; stop(): void };

/** Starts the load client in a process of its own, so its CPU is not counted. */
export async function startLoadClient(): Promise<LoadClient> {
  const child = fork(fileURLToPath(new URL('./load-client.ts', import.meta.url)), {
    execArgv: ['--import=ts-blank-space/register'],
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  const ended = once(child, 'exit').then(() => Promise.reject(new Error('The load client has ended.')));
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
