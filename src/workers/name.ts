import cluster from 'node:cluster';

/** This worker's number and service, in the form that the primary passed on. Undefined if this is no worker. */
export function workerName(): string | undefined {
  return cluster.isWorker ? process.env.PARLEY_WORKER : undefined;
}
