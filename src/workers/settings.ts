/** `WORKERS`, and the connections that all workers share. Contract section 13, docs/decisions/0034-workers.md. */
import { availableParallelism } from 'node:os';
import { MIN_CONNECTIONS } from '../database/connection-shares.ts';
import { ConfigError, type Env, integer, text } from '../environment.ts';

const MAX_WORKERS = 64;
const MAX_CONNECTIONS = 1000;
const CONNECTIONS = 20;

export type WorkerSettings = {
  /** Processes that serve the port. If it is 1, there is no primary. */
  workers: number;
  /** The total of all workers. */
  databaseConnections: number;
};

function workersOf(env: Env, hasPostgres: boolean): number {
  const value = text(env, 'WORKERS');
  if (value === undefined || value === '1') return 1;
  const isAuto = value === 'auto';
  if (!isAuto && !(/^\d{1,3}$/.test(value) && Number(value) >= 1 && Number(value) <= MAX_WORKERS))
    throw new ConfigError(
      'WORKERS',
      `must be auto or a whole number from 1 to ${MAX_WORKERS}, not "${value}".`,
    );
  if (!hasPostgres)
    throw new ConfigError(
      'WORKERS',
      'must be 1 with the embedded database, which only one process can use. Set DATABASE_URL to a Postgres server, or remove WORKERS.',
    );
  return isAuto ? Math.min(availableParallelism(), MAX_WORKERS) : Number(value);
}

/** @throws ConfigError */
export function workerSettings(env: Env, hasPostgres: boolean): WorkerSettings {
  const workers = workersOf(env, hasPostgres);
  const fewest = workers * MIN_CONNECTIONS;
  const usual = Math.max(CONNECTIONS, fewest);
  const connections = integer(env, 'DATABASE_CONNECTIONS', usual, MIN_CONNECTIONS, MAX_CONNECTIONS);
  if (connections < fewest)
    throw new ConfigError(
      'DATABASE_CONNECTIONS',
      `must be at least ${fewest} with ${workers} workers, not ${connections}: the workers share it, and each needs ${MIN_CONNECTIONS}. Raise it, or lower WORKERS.`,
    );
  return { workers, databaseConnections: connections };
}

/** The share of each worker in a limit that is divided. */
export const shareOf = (all: number, workers: number): number => Math.max(1, Math.floor(all / workers));
