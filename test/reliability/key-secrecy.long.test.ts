// A raw key appears only in the responses that create or rotate it. Reliability test 9.
import fs from 'node:fs';
import path from 'node:path';
import { sql } from 'drizzle-orm';
import t from 'tap';
import { type Db, openDatabase, rowsOf } from '../../src/database/client.ts';
import { Client, type OpenApi } from '../support/http.ts';
import { startProcess } from '../support/process.ts';
import { databaseKinds, freshDatabase } from '../support/service.ts';
import { startLoggingPostgres } from '../support/statement-log.ts';

/** Every row of every table, as text. */
async function dump(db: Db): Promise<string> {
  const tables = await rowsOf<{ name: string }>(
    db,
    sql`select quote_ident(table_schema) || '.' || quote_ident(table_name) as name from information_schema.tables
        where table_schema not in ('pg_catalog', 'information_schema') and table_type = 'BASE TABLE'`,
  );
  let text = '';
  for (const { name } of tables) {
    const rows = await rowsOf<{ row: string }>(
      db,
      sql`select row_to_json(t)::text as row from ${sql.raw(name)} as t`,
    );
    text += `${name}\n${rows.map(({ row }) => row).join('\n')}\n`;
  }
  return text;
}

/** The bytes of every file below a folder. */
const filesBelow = (folder: string): Buffer[] =>
  fs
    .readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => fs.readFileSync(path.join(entry.parentPath, entry.name)));

for (const kind of databaseKinds) {
  t.test(`${kind}: raw keys never appear in the database, a log, or any other response`, async (t) => {
    const log = kind === 'postgres' ? await startLoggingPostgres() : undefined;
    const database = log ? undefined : await freshDatabase(kind);
    const env = log ? { DATABASE_URL: log.server.url() } : (database?.env as Record<string, string>);
    const service = await startProcess(t, { ...env, LOG_LEVEL: 'trace', AUTH_ATTEMPTS_PER_MINUTE: '100' });
    const document = (await (await fetch(`${service.origin}/openapi.json`)).json()) as OpenApi;
    const client = new Client(service.origin, document);

    const owner = await client.signUp();
    const { cookie } = owner;
    const created = await client.createKey(owner);
    const rotated = (await client.post(`/keys/${created.id}/rotate`, { grace_seconds: 600 }, { cookie }))
      .body;
    const leaked = await client.createKey(owner);
    const answers: string[] = [];
    const keep = async (answer: Promise<{ text: string; headers: Headers }>) => {
      const { headers, text } = await answer;
      answers.push(text, JSON.stringify([...headers]));
    };

    for (const { key } of [created, rotated, leaked]) {
      await keep(client.get('/models', { key }));
      await keep(client.post('/chat', { message: 'Hello' }, { key }));
      await keep(client.get(`/models/${key}`, { key }));
      await keep(client.get(`/models?x=${key}`, { key }));
      await keep(client.get(`/conversations/${key}`, { key }));
      await keep(client.get('/keys', { key }));
      await keep(client.post('/chat', { message: 'Hello', model: key }, { key }));
      await keep(client.post('/chat', { [key]: key }, { key }));
      await keep(client.request('POST', '/chat', { raw: `{"message":"${key}`, key }));
      const messages = [{ role: 'user', content: 'Hello' }];
      await keep(client.post('/chat/completions', { model: key, messages }, { key }));
      for (const sent of [key, `${key}x`]) {
        const headers = { 'x-api-key': sent };
        await keep(client.post('/messages', { max_tokens: 9, messages }, { headers }));
        await keep(
          client.post('/messages', { max_tokens: 9, messages: [{ role: key, content: key }] }, { headers }),
        );
        await keep(client.post('/messages/count_tokens', { model: key, messages }, { headers }));
        await keep(client.post('/chat', { message: 'Hello' }, { headers, key }));
      }
      await keep(client.post('/keys', { name: 'x', scopes: [key] }, { cookie }));
      await keep(client.post('/keys', { name: 'x', scopes: ['chat'], allowed_origins: [key] }, { cookie }));
      await keep(client.post('/keys', { name: 'x', scopes: ['chat'], [key]: 1 }, { cookie }));
      await keep(client.patch(`/keys/${created.id}`, { allowed_origins: [`https://${key}/`] }, { cookie }));
      await keep(client.post(`/keys/${created.id}/rotate`, { grace_seconds: key }, { cookie }));
      await keep(client.put('/subscription', { plan: key, billing_period: 'monthly' }, { cookie }));
      await keep(client.delete(`/keys/${key}`, { cookie }));
      await keep(client.post('/keys/report-leak', { keys: [key], [key]: key }));
    }
    await keep(client.post('/keys/report-leak', { keys: [leaked.key, `${created.key}x`] }));
    await keep(client.get('/keys', { cookie }));
    await keep(client.get('/models', { key: leaked.key }));
    await keep(client.delete(`/keys/${created.id}`, { cookie }));
    for (const { key } of [created, rotated]) await keep(client.get('/models', { key }));
    await service.end();

    const location =
      env.DATABASE_URL === undefined ? { dataDir: env.DATA_DIR ?? '' } : { url: env.DATABASE_URL };
    const opened = await openDatabase(location);
    const rows = await dump(opened.db);
    await opened.close();
    t.match(rows, created.key_prefix.slice('parley_'.length), 'the dump contains the public id of the key');
    t.match(service.output(), /"path":"\/api\/v1\/models\/\[API key\]"/, 'the log contains the requests');
    const places: [string, string | Buffer][] = [
      ['the database', rows],
      ['the log', service.output()],
      ['a response', answers.join('\n')],
      ...filesBelow(env.DATA_DIR ?? log?.server.dataDir ?? '').map((bytes): [string, Buffer] => [
        "the database's files",
        bytes,
      ]),
    ];
    if (log) {
      t.match(log.text(), /insert into "key_secrets"/);
      places.push(["the database's log", log.text()]);
    }
    // Long field names are truncated, so the test looks for the beginning of the secret too.
    for (const { key } of [created, rotated, leaked])
      for (const [place, held] of places)
        for (const secret of [key.slice(16), key.slice(16, 40)])
          if (held.includes(secret)) t.fail(`${place} contains a secret`);
    await log?.server.drop();
    await database?.drop();
  });
}
