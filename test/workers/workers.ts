/** A service with several workers, which run as separate processes. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Test } from 'tap';
import { processTree } from '../support/process-tree.ts';
import { type Replica, startCluster } from '../support/replicas.ts';

type Env = Record<string, string>;

/** Starts one service. It has two workers unless `env` sets another number. */
export async function startWorkers(t: Test, env: Env = {}) {
  const { client, databaseUrl, replicas } = await startCluster(t, {
    count: 1,
    env: { WORKERS: '2', LOG_LEVEL: 'info', ...env },
  });
  const [service] = replicas as [Replica];
  return { client, databaseUrl, service };
}

/** Uses one connection per request, so that the primary distributes them. */
export const apart = { connection: 'close' };

/** The lines of the log that are JSON. */
export const logOf = ({ log }: Replica): Record<string, unknown>[] =>
  log
    .split('\n')
    .filter((line) => line.startsWith('{') && line.endsWith('}'))
    .map((line) => JSON.parse(line));

/** The numbers of the workers that completed requests to a path, with a status if one is given. */
export const servedBy = (service: Replica, path: string, status?: number): unknown[] => [
  ...new Set(
    logOf(service)
      .filter(({ msg, req }) => msg === 'request completed' && (req as { path: string }).path === path)
      .filter(({ res }) => status === undefined || (res as { statusCode: number }).statusCode === status)
      .map(({ worker }) => worker),
  ),
];

/** The process IDs of the workers, which are children of the primary. */
export const workersOf = (service: Replica): number[] => processTree(service.pid).slice(1);

/** Waits until `isSo` returns true. */
export async function until(
  what: string,
  isSo: () => boolean | Promise<boolean>,
  withinMs = 300_000,
): Promise<void> {
  for (const end = performance.now() + withinMs; performance.now() < end; await sleep(50))
    if (await isSo()) return;
  throw new Error(`Timed out after ${withinMs} ms: ${what}`);
}

/** Repeats `ask` until both workers have served a path: the primary hands each connection to any free worker. */
export const askBoth = (service: Replica, path: string, ask: () => Promise<void>): Promise<void> =>
  until(`both workers served ${path}`, async () => {
    await ask();
    return servedBy(service, path).length === 2;
  });

/** Waits until both workers have logged requests to a path, which happens after their responses. */
export const servedByBoth = (service: Replica, path: string): Promise<void> =>
  until(`both workers served ${path}`, () => servedBy(service, path).length === 2);

/** The sum of a metric's values whose labels contain `labels`. */
export function metric(text: string, name: string, labels = ''): number {
  const lines = text.split('\n').filter((line) => line.startsWith(`${name}{`) || line.startsWith(`${name} `));
  return lines
    .filter((line) => line.includes(labels))
    .reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' ') + 1)), 0);
}
