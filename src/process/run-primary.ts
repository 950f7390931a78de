/** Starts a service with several workers, and exits when it ends. Contract sections 11 and 13. */
import { type Logger, pino } from 'pino';
import type { Config } from '../config.ts';
import { configuredLocation, startMigrated } from '../migrated-database.ts';
import { loggerOptions } from '../telemetry/logger-options.ts';
import { Primary } from './primary.ts';

export type Served = { port: number; databaseVersion: string };

/** Uses one connection and closes it before any worker opens its own. */
async function migrateOnce(config: Config): Promise<string> {
  const { database, opened } = startMigrated(config, await configuredLocation(config));
  try {
    await opened;
    return await database.version();
  } finally {
    await database.close();
  }
}

function followSignals(primary: Primary, config: Config, log: Logger): void {
  const stopOn = (signal: NodeJS.Signals) =>
    process.on(signal, () => {
      log.info(`Shutting down on ${signal}.`);
      primary.stop();
    });
  stopOn('SIGINT');
  stopOn('SIGQUIT');
  if (config.upstreams === undefined) stopOn('SIGHUP');
  else process.on('SIGHUP', () => primary.reload());
  process.on('SIGTERM', () => {
    log.info('Shutting down on SIGTERM.');
    void primary.stopNoticed();
  });
}

/**
 * Throws database errors. If a worker fails to start, it reports the error, and this process exits with its code.
 *
 * @returns undefined if the service ended before all workers were ready
 */
export async function runPrimary(config: Config): Promise<Served | undefined> {
  const databaseVersion = await migrateOnce(config);
  const log = pino(loggerOptions(config.logLevel));
  const primary = new Primary(config, log);
  followSignals(primary, config, log);
  void primary.ended.then(({ code }) => process.exit(code));
  const facts = await primary.start();
  return facts && { port: facts.port, databaseVersion };
}
