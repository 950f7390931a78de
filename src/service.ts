/** Starts and stops the service's parts in order of dependency. Contract section 11. */
import { randomBytes } from 'node:crypto';
import type { AddressInfo } from 'node:net';
import type { FastifyInstance } from 'fastify';
import { buildApp } from './app.ts';
import { commandHandler } from './commands/operator.ts';
import type { Config } from './config.ts';
import { type Database, type DatabaseLocation, openDatabase } from './database/client.ts';
import { type DataDirLock, lockDataDir } from './database/data-dir-lock.ts';
import { Maintenance } from './domain/maintenance.ts';
import { ConfigError } from './environment.ts';
import { configuredLocation, openMigrated } from './migrated-database.ts';
import { settingOnce } from './store/settings.ts';
import { WebhookSender } from './webhooks/sender.ts';
import type { Membership } from './workers/membership.ts';

export type Service = {
  app: FastifyInstance;
  database: Database;
  port: number;
  /** Stops accepting, waits for open requests, closes the database. Call it once. */
  stop(): Promise<void>;
  /** Reads the operator's file of upstreams again. A wrong file changes nothing and is logged. */
  reload(): void;
};

async function lockFolder(
  config: Config,
  location: DatabaseLocation,
  current: () => Database | undefined,
): Promise<DataDirLock | undefined> {
  if ('url' in location) return undefined;
  const handle = commandHandler(() => {
    const database = current();
    return database && { ...database, config };
  });
  return lockDataDir(location.dataDir, handle);
}

function reloadUpstreams({ engines, log }: FastifyInstance, { upstreams }: Config): void {
  if (upstreams === undefined || engines.router === undefined) return;
  try {
    engines.router.reload(upstreams.reread());
    log.info('Reloaded UPSTREAMS_FILE.');
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    log.error(`${error.message}\nThe previous upstreams remain in use.`);
  }
}

/**
 * Throws DataDirError, and errors of the database or of listening. `givenLocation` replaces the configured database.
 * `membership` makes this process a worker, whose primary has migrated the database.
 */
export async function startService(
  config: Config,
  givenLocation?: DatabaseLocation,
  membership?: Membership,
): Promise<Service> {
  const location = givenLocation ?? (await configuredLocation(config));
  let database: Database | undefined;
  const lock = await lockFolder(config, location, () => database);
  try {
    const opened = await (membership ? openDatabase(location) : openMigrated(config, location));
    database = opened;
    const sessionSecrets = config.sessionSecrets ?? [
      await settingOnce(opened.db, 'session_secret', () => randomBytes(32).toString('base64url')),
    ];
    const tracer = config.telemetry && (await import('./telemetry/otlp.ts')).startTracer(config.telemetry);
    const app = await buildApp({ config, database: opened, sessionSecrets, tracer, membership });
    await app.ledger.start();
    await app.keyLookup.start();
    await app.listen({
      port: config.port,
      host: config.host,
      listenTextResolver: (address) => `Listening at ${address}`,
    });
    const maintenance = new Maintenance(opened, config, app.log);
    maintenance.start();
    const { log, metrics } = app;
    const { plans, webhookTargets: targets } = config;
    const webhooks = new WebhookSender({ db: opened.db, plans, targets, log, metrics });
    webhooks.start();
    return {
      app,
      database: opened,
      reload: () => reloadUpstreams(app, config),
      port: (app.server.address() as AddressInfo).port,
      stop: async () => {
        const stopped = [maintenance.stop(), webhooks.stop()];
        await app.close();
        await Promise.all(stopped);
        await app.keyLookup.stop();
        await app.ledger.stop();
        await opened.close();
        await lock?.release();
        // Last, because a collector that cannot be reached takes its time.
        await tracer?.stop();
      },
    };
  } catch (error) {
    await database?.close();
    await lock?.release();
    throw error;
  }
}
