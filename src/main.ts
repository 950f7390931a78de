/** The process: configuration, startup, and graceful shutdown. Contract sections 11 and 13. */

import { type Config, loadConfig } from './config.ts';
import { isBusy, isUnavailable, NO_CONNECTION_LEFT, noConnectionLeft, sqlState } from './database/client.ts';
import { DataDirError } from './database/data-dir-lock.ts';
import { MigrationError } from './database/migrate.ts';
import { ConfigError } from './environment.ts';
import { banner } from './process/banner.ts';
import { trimMemoryAfterStart } from './process/trim-memory.ts';
import type { Service } from './service.ts';
import { workerName } from './workers/name.ts';

function explain(error: unknown, config: Config | undefined): string {
  if (error instanceof ConfigError || error instanceof DataDirError || error instanceof MigrationError)
    return error.message;
  const { code, message } = error as NodeJS.ErrnoException;
  const where = config && `${config.host}:${config.port}`;
  if (code === 'EADDRINUSE')
    return `${where} is in use by another process. Stop that process, or set PORT to another port.`;
  if (code === 'EADDRNOTAVAIL')
    return `${where} is not an address of this machine. Set HOST to an address that is.`;
  if (code === 'EACCES') return `This user is not allowed to listen on ${where}. Set PORT to 1024 or above.`;
  if (code === 'ENOTFOUND' && (error as { hostname?: string }).hostname === config?.host) {
    return `HOST must be an address of this machine, not "${config?.host}".`;
  }
  const state = sqlState(error);
  if (state === '28P01' || state === '28000')
    return `The database rejected the connection (${state}). Check the user and password in DATABASE_URL and, if set, in DATABASE_DIRECT_URL, and that pg_hba.conf allows the user.`;
  if (state === '3D000') return 'The database in DATABASE_URL does not exist. Create it first.';
  if (state === NO_CONNECTION_LEFT) return noConnectionLeft(config?.databaseConnections);
  if (isBusy(error))
    return `The database could not run the statements at startup (${state}). It may be read-only, overloaded, or out of disk space.`;
  if (isUnavailable(error))
    return `The database at DATABASE_URL cannot be reached (${state}). Check that it is running and that the address is correct.`;
  return `The service could not start: ${message}`;
}

/** Prints text for people. The log goes to standard output. */
const say = (text: string) => process.stderr.write(`${text}\n`);

/** Imports modules on demand, so that a primary and its workers load only the modules that they need. */
async function run(config: Config): Promise<void> {
  const worker = workerName();
  if (worker === undefined && config.workers > 1) {
    const running = await (await import('./process/run-primary.ts')).runPrimary(config);
    if (running !== undefined) say(banner(running, config));
    return;
  }
  const service = await (worker === undefined
    ? serveAlone(config)
    : (await import('./process/worker.ts')).startWorker(config, worker));
  if (worker === undefined)
    say(banner({ port: service.port, databaseVersion: await service.database.version() }, config));
  // Start now, because requests during the first search would wait for it.
  setImmediate(() => void service.documentation());
  trimMemoryAfterStart(service);
}

async function serveAlone(config: Config): Promise<Service> {
  const { startService } = await import('./service.ts');
  const service = await startService(config);
  (await import('./process/ending.ts')).endInOrder(service, config);
  return service;
}

// Only this user can access files that this process creates, such as the embedded database's.
process.umask(0o077);

let config: Config | undefined;
try {
  config = loadConfig();
  await run(config);
} catch (error) {
  say(explain(error, config));
  process.exit(1);
}
