/** The process: configuration, startup and graceful shutdown. Contract sections 11 and 13. */
import type { ModelTask } from '../schemas/models.ts';
import { type Config, loadConfig } from './config.ts';
import { isUnavailable, NO_CONNECTION_LEFT, noConnectionLeft, sqlState } from './database/client.ts';
import { DataDirError } from './database/data-dir-lock.ts';
import { MigrationError } from './database/migrate.ts';
import { endInOrder } from './ending.ts';
import { ConfigError } from './environment.ts';
import { type Service, startService } from './service.ts';

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
    return 'The database rejected the user or password in DATABASE_URL.';
  if (state === '3D000') return 'The database in DATABASE_URL does not exist. Create it first.';
  if (state === NO_CONNECTION_LEFT) return noConnectionLeft(config?.databaseConnections);
  if (isUnavailable(error))
    return `The database at DATABASE_URL cannot be reached (${state}). Check that it is running and that the address is correct.`;
  return `The service could not start: ${message}`;
}

async function banner({ database, port }: Service, config: Config): Promise<string> {
  const url = config.publicUrlIsSet ? config.publicUrl : `http://localhost:${port}`;
  const store =
    database.kind === 'embedded'
      ? `embedded Postgres ${await database.version()} in ${config.dataDir} (for evaluation and small installs; not safe against power loss). Set DATABASE_URL to use a Postgres server.`
      : `Postgres ${await database.version()}`;
  const by = (upstream: { url: string } | undefined) => (upstream ? new URL(upstream.url).host : 'built-in');
  const models = config.upstreams?.settings.models ?? [];
  const ofTask = (task: ModelTask) => {
    const targets = models.filter((model) => model.task === task).flatMap((model) => model.targets);
    const names = new Set(targets.map(({ upstream }) => upstream));
    return names.size > 0 ? [...names].join(', ') : by(config[task]);
  };
  const engines = `chat ${ofTask('chat')}, images ${ofTask('images')}, search ${by(config.search)}, embeddings ${ofTask('embeddings')}`;
  const hint =
    (config.chat ?? config.upstreams)
      ? ''
      : '. Answers come from the guides; set CHAT_URL to connect a language model.';
  return [
    '',
    `  Parley is running at ${url}`,
    `  Database  ${store}`,
    `  Engines   ${engines}${hint}`,
    `  Read      ${url}/docs`,
    '  Stop      Ctrl-C',
    '',
  ].join('\n');
}

// Files that this process creates, such as the embedded database's, are private to its user.
process.umask(0o077);

let config: Config | undefined;
try {
  config = loadConfig();
  const service = await startService(config);
  endInOrder(service, config);
  // For people; the log goes to standard output.
  process.stderr.write(`${await banner(service, config)}\n`);
  // Now, because requests that come during the first search would wait for it.
  setImmediate(() => void service.app.documentation());
} catch (error) {
  process.stderr.write(`${explain(error, config)}\n`);
  process.exit(1);
}
