/** A service of several workers, as its own processes. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Test } from 'tap';
import { processTree } from '../support/process-tree.ts';
import { type Replica, startCluster } from '../support/replicas.ts';

type Env = Record<string, string>;

/** Starts one service of two workers, unless `env` says otherwise. */
export async function startWorkers(t: Test, env: Env = {}) {
  const { client, databaseUrl, replicas } = await startCluster(t, {
    count: 1,
    env: { WORKERS: '2', LOG_LEVEL: 'info', ...env },
  });
  const [service] = replicas as [Replica];
  return { client, databaseUrl, service };
}

/** A connection for each request, so that the primary deals them out. */
export const apart = { connection: 'close' };

/** The lines of its log, as far as they are JSON. */
export const logOf = ({ log }: Replica): Record<string, unknown>[] =>
  log
    .split('\n')
    .filter((line) => line.startsWith('{') && line.endsWith('}'))
    .map((line) => JSON.parse(line));

/** The numbers of the workers that completed requests to a path. */
const servedBy = (service: Replica, path: string): unknown[] => [
  ...new Set(
    logOf(service)
      .filter(({ msg, req }) => msg === 'request completed' && (req as { path: string }).path === path)
      .map(({ worker }) => worker),
  ),
];

/** Process IDs of the workers: the children of the primary. */
export const workersOf = (service: Replica): number[] => processTree(service.pid).slice(1);

/** Waits until something is so. */
export async function until(
  what: string,
  isSo: () => boolean | Promise<boolean>,
  withinMs = 300_000,
): Promise<void> {
  for (const end = performance.now() + withinMs; performance.now() < end; await sleep(50))
    if (await isSo()) return;
  throw new Error(`Not within ${withinMs} ms: ${what}`);
}

/** Asks again until both workers have served a path: the primary hands a connection to whichever is free. */
export const askBoth = (service: Replica, path: string, ask: () => Promise<void>): Promise<void> =>
  until(`both workers served ${path}`, async () => {
    await ask();
    return servedBy(service, path).length === 2;
  });

/** Waits until both workers have logged requests to a path: the log comes after the answers. */
export const servedByBoth = (service: Replica, path: string): Promise<void> =>
  until(`both workers served ${path}`, () => servedBy(service, path).length === 2);

/** The value of a metric, or the sum of those whose labels contain `labels`. */
export function metric(text: string, name: string, labels = ''): number {
  const lines = text.split('\n').filter((line) => line.startsWith(`${name}{`) || line.startsWith(`${name} `));
  return lines
    .filter((line) => line.includes(labels))
    .reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' ') + 1)), 0);
}
