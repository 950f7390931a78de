import cluster from 'node:cluster';

/** Which worker this process is, if it is one: its number and its service, as the primary passed them on. */
export function workerName(): string | undefined {
  return cluster.isWorker ? process.env.PARLEY_WORKER : undefined;
}
