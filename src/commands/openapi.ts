/** `npm run openapi` writes `openapi.json` from the schemas, without querying a database. */
import { writeFile } from 'node:fs/promises';
import { buildApp } from '../app.ts';
import { loadConfig } from '../config.ts';
import { openDatabase } from '../database/client.ts';
import { projectRoot } from '../project.ts';

// The document must not depend on the environment. No query runs, so nothing connects to Postgres.
const config = loadConfig({ LOG_LEVEL: 'silent', DATABASE_URL: 'postgres://nobody@localhost/nothing' });
const database = await openDatabase({ url: String(config.databaseUrl) });
const { app } = await buildApp({
  config,
  database,
  sessionSecrets: () => ['not used to sign anything'.repeat(2)],
});
await app.ready();
await writeFile(new URL('openapi.json', projectRoot), `${JSON.stringify(app.swagger(), null, 2)}\n`);
await app.close();
await database.close();
