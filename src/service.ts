/** Starts and stops the parts of the service in order of dependency. Contract section 11. */
import { randomBytes } from 'node:crypto';
import type { AddressInfo } from 'node:net';
import type { FastifyInstance } from 'fastify';
import type { App } from './app.ts';
import type { CommandContext } from './commands/command.ts';
import { commandHandler } from './commands/operator.ts';
import type { Config } from './config.ts';
import { type Database, type DatabaseLocation, type Opening, startOpening } from './database/client.ts';
import { type DataDirLock, lockDataDir } from './database/data-dir-lock.ts';
import { ConfigError } from './environment.ts';
import { Maintenance } from './jobs/maintenance.ts';
import { outcomeOf, type Reload, UpstreamReloads } from './jobs/upstream-reloads.ts';
import { configuredLocation, startMigrated } from './migrated-database.ts';
import { settingOnce } from './store/settings.ts';
import { WebhookSender } from './webhooks/sender.ts';
import type { Membership } from './workers/membership.ts';

export type Service = App & {
  database: Database;
  port: number;
  /** Stops accepting requests, waits for open ones, and closes the database. Call it once. */
  stop(): Promise<void>;
  /** Reloads the operator's upstreams file. An invalid file changes nothing; the error is logged and returned. */
  reload: Reload;
};

async function lockFolder(
  config: Config,
  location: DatabaseLocation,
  current: () => Omit<CommandContext, 'config'> | undefined,
): Promise<DataDirLock | undefined> {
  if ('url' in location) return undefined;
  const handle = commandHandler(() => {
    const context = current();
    return context && { ...context, config };
  });
  return lockDataDir(location.dataDir, handle);
}

function reloadUpstreams({ engines, log }: FastifyInstance, { upstreams }: Config): string | undefined {
  if (upstreams === undefined || engines.router === undefined)
    return 'It was started without UPSTREAMS_FILE. Set the variable and restart it.';
  try {
    engines.router.reload(upstreams.reread());
    log.info('Reloaded UPSTREAMS_FILE.');
    return undefined;
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    log.error(`${error.message}\nThe previous upstreams remain in use.`);
    return error.message;
  }
}

/**
 * Throws DataDirError, and errors of the database or of listening. `givenLocation` replaces the configured database.
 * With `membership`, this process is a worker, and its primary has migrated the database.
 */
export async function startService(
  config: Config,
  givenLocation?: DatabaseLocation,
  membership?: Membership,
): Promise<Service> {
  const location = givenLocation ?? (await configuredLocation(config));
  let context: Omit<CommandContext, 'config'> | undefined;
  const lock = await lockFolder(config, location, () => context);
  let opening: Opening | undefined;
  let building: Promise<App> | undefined;
  try {
    const tracer = config.telemetry && (await import('./telemetry/otlp.ts')).startTracer(config.telemetry);
    opening = membership ? startOpening(location) : startMigrated(config, location);
    const { database, opened } = opening;
    let secrets = config.sessionSecrets;
    async function ready(): Promise<void> {
      await opened;
      secrets ??= [
        await settingOnce(database.db, 'session_secret', () => randomBytes(32).toString('base64url')),
      ];
    }
    async function build(): Promise<App> {
      const { buildApp } = await import('./app.ts');
      const sessionSecrets = () => secrets as NonNullable<typeof secrets>;
      const built = await buildApp({ config, database, sessionSecrets, tracer, membership });
      await built.app.ready();
      return built;
    }
    // Run both at once, because the embedded database starts in its own thread.
    building = build();
    const [built] = await Promise.all([building, ready()]);
    const { app, keyLookup, ledger, metrics } = built;
    await ledger.start();
    await keyLookup.start();
    await app.listen({
      port: config.port,
      host: config.host,
      listenTextResolver: (address) => `Listening at ${address}`,
    });
    const maintenance = new Maintenance(database, config, app.log);
    maintenance.start();
    const { log } = app;
    const { plans, webhookTargets: targets } = config;
    const webhooks = new WebhookSender({ db: database.db, plans, targets, log, metrics });
    webhooks.start();
    const reloadHere = () => reloadUpstreams(app, config);
    context = { ...database, reload: outcomeOf.bind(null, reloadHere) };
    const reloads = new UpstreamReloads(database.db, ledger.process, reloadHere, log);
    if (database.kind === 'postgres' && config.upstreams !== undefined) reloads.start();
    return {
      ...built,
      database,
      reload: reloadHere,
      port: (app.server.address() as AddressInfo).port,
      stop: async () => {
        const stopped = [maintenance.stop(), webhooks.stop(), reloads.stop()];
        await app.close();
        await Promise.all(stopped);
        await keyLookup.stop();
        await ledger.stop();
        await database.close();
        await lock?.release();
        // Stop it last, because an unreachable collector delays it.
        await tracer?.stop();
      },
    };
  } catch (error) {
    await building?.then(
      ({ app }) => app.close(),
      () => {},
    );
    await opening?.database.close();
    await lock?.release();
    throw error;
  }
}
