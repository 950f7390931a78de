import type { ModelTask } from '../../schemas/models.ts';
import type { Config } from '../config.ts';

export type Running = {
  port: number;
  /** The server version, such as `15.18`. */
  databaseVersion: string;
};

/** The text that an operator sees once the service has started. */
export function banner({ databaseVersion, port }: Running, config: Config): string {
  const url = config.publicUrlIsSet ? config.publicUrl : `http://localhost:${port}`;
  const store =
    config.databaseUrl === undefined
      ? `embedded Postgres ${databaseVersion} in ${config.dataDir} (for evaluation and small installations; a power failure can lose data). Set DATABASE_URL to use a Postgres server.`
      : `Postgres ${databaseVersion}`;
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
      : '. Replies come from the guides; set CHAT_URL to connect a language model.';
  return [
    '',
    `  Parley is running at ${url}`,
    `  Database  ${store}`,
    `  Engines   ${engines}${hint}`,
    ...(config.workers > 1 ? [`  Workers   ${config.workers}`] : []),
    `  Read      ${url}/docs`,
    '  Stop      Ctrl-C',
    '',
  ].join('\n');
}
