/** Plants faults one at a time in an otherwise healthy installation. */
import { once } from 'node:events';
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { createServer, type RequestListener } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo, Server } from 'node:net';
import { createServer as createSocket } from 'node:net';
import { join } from 'node:path';
import { sql } from 'drizzle-orm';
import t, { type Test } from 'tap';
import { diagnose, doctor, type Machine } from '../../src/commands/doctor/index.ts';
import { loadConfig } from '../../src/config.ts';
import { openDatabase } from '../../src/database/client.ts';
import { startService } from '../../src/service.ts';
import { selfSigned } from '../support/certificate.ts';
import { planted, SECRET } from '../support/planted-mistakes.ts';
import { freePort } from '../support/programs.ts';
import { freshDatabase } from '../support/service.ts';
import { fileWithPackages, upstreamsFile } from '../support/upstreams-file.ts';

type Env = Record<string, string>;

const machine: Machine = { freeBytes: async () => 50 * 1024 ** 3, nodeVersion: '24.1.0' };

async function listen(t: Pick<Test, 'teardown'>, server: Server): Promise<number> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => server.close());
  return (server.address() as AddressInfo).port;
}

const models = (...ids: string[]): string =>
  JSON.stringify({ object: 'list', data: ids.map((id) => ({ id })) });

/** An upstream with one model and one valid key. */
const modelServer: RequestListener = ({ headers, url }, response) => {
  if (url !== '/v1/models') response.writeHead(404).end();
  else if (headers.authorization !== 'Bearer right') response.writeHead(401).end();
  else response.end(models('llama'));
};

const status =
  (code: number, body = ''): RequestListener =>
  (_request, response) => {
    response.writeHead(code).end(body);
  };

/** Expects a finding about a variable or a component. */
async function found(
  t: Test,
  env: Env,
  about: string,
  expected: { level?: string; problem: RegExp; remedy: RegExp },
) {
  const findings = await diagnose(env, machine);
  const one = findings.find((finding) => finding.about === about && expected.problem.test(finding.problem));
  t.match(one, { level: 'error', ...expected }, `${about}: ${expected.problem.source}`);
  if (one === undefined) t.comment(findings);
}

t.test('doctor', async (t) => {
  const postgres = await freshDatabase('postgres');
  t.teardown(postgres.drop);
  const databaseUrl = postgres.env.DATABASE_URL ?? '';
  const free = await freePort();
  const well: Env = { PORT: String(free), DATABASE_URL: databaseUrl };
  const upstream = `http://127.0.0.1:${await listen(t, createServer(modelServer))}/v1`;
  const chat: Env = { ...well, CHAT_URL: upstream, CHAT_API_KEY: 'right', CHAT_MODEL: 'llama' };
  const folder = t.testdir();

  t.test('a healthy installation has no findings on either database', async (t) => {
    // The tests' Postgres server runs without fsync, which doctor reports.
    const onPostgres = await diagnose(chat, machine);
    t.strictSame(
      onPostgres.filter(({ problem }) => !/fsync off/.test(problem)),
      [],
    );
    const embedded = await freshDatabase('embedded');
    t.teardown(embedded.drop);
    const env = { PORT: String(free), ...embedded.env };
    t.strictSame(await diagnose(env, machine), [], 'no findings while the service is stopped');
    const service = await startService(loadConfig({ ...env, PORT: '0', LOG_LEVEL: 'silent' }));
    t.teardown(() => service.stop());
    t.strictSame(
      await diagnose({ ...env, PORT: String(service.port) }, machine),
      [],
      'no findings while the service is running',
    );
  });

  t.test('every error in UPSTREAMS_FILE is listed', async (t) => {
    const env = { ...well, ...planted.env, ...upstreamsFile(planted.content).env };
    const { isBad, text } = await doctor.runHere({ positionals: [], options: {} }, env, () => undefined);
    const said = text.join('\n');
    t.ok(isBad);
    t.match(
      said,
      `Error    UPSTREAMS_FILE: The value is invalid: it has ${planted.sentences.length} errors:`,
    );
    for (const sentence of planted.sentences) t.match(said, sentence);
    t.match(said, 'What to do: Correct or remove UPSTREAMS_FILE.');
    t.notMatch(said, SECRET, 'the output contains no API key');
  });

  t.test('configuration problems are reported', async (t) => {
    const two = { ...well, PORT: 'x', BILLING: 'free' };
    await found(t, two, 'PORT', { problem: /whole number/, remedy: /Correct or remove PORT/ });
    await found(t, two, 'BILLING', { problem: /open or managed/, remedy: /Correct or remove BILLING/ });
    await found(t, { ...well, PLANS_FILE: join(folder, 'none.json') }, 'PLANS_FILE', {
      problem: /must be a JSON file/,
      remedy: /Correct or remove/,
    });
    await found(t, { ...well, DATABASE_CONECTIONS: '10' }, 'DATABASE_CONECTIONS', {
      level: 'warning',
      problem: /no effect/,
      remedy: /DATABASE_CONNECTIONS/,
    });
    await found(t, { ...well, SESSION_SECRET: 'a'.repeat(40) }, 'SESSION_SECRET', {
      problem: /guessed/,
      remedy: /openssl rand -hex 32/,
    });
    await found(
      t,
      { ...well, OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${await freePort()}` },
      'OTEL_EXPORTER_OTLP_ENDPOINT',
      {
        level: 'warning',
        problem: /cannot be reached \(ECONNREFUSED\)/,
        remedy: /Start the collector/,
      },
    );
    await found(t, { ...well, WEBHOOK_TARGETS: 'any', HOST: '0.0.0.0', SIGNUPS: 'open' }, 'WEBHOOK_TARGETS', {
      level: 'warning',
      problem: /Anyone can sign up/,
      remedy: /SIGNUPS to closed/,
    });
    await found(t, { ...well, METRICS_TOKEN: 'short' }, 'METRICS_TOKEN', {
      level: 'warning',
      problem: /shorter/,
      remedy: /openssl/,
    });
    await found(t, { ...well, NODE_TLS_REJECT_UNAUTHORIZED: '0' }, 'NODE_TLS_REJECT_UNAUTHORIZED', {
      problem: /not checked/,
      remedy: /NODE_EXTRA_CA_CERTS/,
    });
  });

  t.test('inconsistent addresses are reported', async (t) => {
    const open = { ...well, HOST: '0.0.0.0' };
    await found(t, open, 'PUBLIC_URL', { problem: /cannot sign in/, remedy: /Set PUBLIC_URL/ });
    const https = { ...well, PUBLIC_URL: 'https://chat.example.com' };
    await found(t, https, 'TRUST_PROXY', {
      level: 'warning',
      problem: /not trusted/,
      remedy: /number of proxies/,
    });
    await found(t, { ...open, PUBLIC_URL: 'http://chat.example.com' }, 'PUBLIC_URL', {
      level: 'warning',
      problem: /over http/,
      remedy: /https/,
    });
    await found(t, { ...open, TRUST_PROXY: '1' }, 'TRUST_PROXY', {
      level: 'warning',
      problem: /spoof any address/,
      remedy: /addresses of the proxies/,
    });
    await found(t, { ...https, BILLING: 'open' }, 'BILLING', {
      level: 'warning',
      problem: /largest plan/,
      remedy: /managed/,
    });
    await found(t, { ...well, HOST: '192.0.2.1' }, 'HOST', { problem: /not an address/, remedy: /Set HOST/ });
    const taken = String(await listen(t, createServer(status(200, 'something else'))));
    await found(t, { ...well, PORT: taken }, 'PORT', {
      problem: /Another program/,
      remedy: /Stop that program/,
    });
  });

  t.test('problems with the machine are reported', async (t) => {
    const small = { ...machine, freeBytes: async () => 1024 ** 2, nodeVersion: '18.20.0' };
    const data = join(folder, 'data');
    mkdirSync(data, { mode: 0o700 });
    chmodSync(data, 0o755);
    const findings = await diagnose({ PORT: String(free), DATA_DIR: data }, small);
    t.match(
      findings.find(({ problem }) => /MiB are free/.test(problem)),
      { level: 'error', about: 'DATA_DIR', remedy: /Free up space/ },
    );
    t.match(
      findings.find(({ problem }) => /Every user/.test(problem)),
      { level: 'error', about: 'DATA_DIR', remedy: `Run: chmod 700 ${data}` },
    );
    t.match(
      findings.find(({ about }) => about === 'Node.js'),
      { level: 'error', remedy: /Install Node/ },
    );
    writeFileSync(join(folder, 'file'), '');
    await found(t, { PORT: String(free), DATA_DIR: join(folder, 'file', 'data') }, 'DATA_DIR', {
      problem: /cannot be used/,
      remedy: /Set DATA_DIR/,
    });
  });

  t.test('database connection problems are reported', async (t) => {
    const gone = { ...well, DATABASE_URL: 'postgres://parley:hidden@127.0.0.1:9/parley' };
    await found(t, gone, 'DATABASE_URL', { problem: /ECONNREFUSED/, remedy: /Start Postgres/ });
    t.notMatch(
      JSON.stringify(await diagnose(gone, machine)),
      /hidden/,
      'the output does not contain the password',
    );
    const other = new URL(databaseUrl);
    other.pathname = '/no_such_database';
    await found(t, { ...well, DATABASE_URL: other.href }, 'DATABASE_URL', {
      problem: /3D000/,
      remedy: /createdb/,
    });
    other.pathname = '/postgres';
    await found(t, { ...well, DATABASE_DIRECT_URL: other.href }, 'DATABASE_DIRECT_URL', {
      problem: /a different database/,
      remedy: /behind the pooler/,
    });
    await found(t, { ...well, DATABASE_URL: other.href }, 'migrations', {
      level: 'warning',
      problem: /empty/,
      remedy: /Start the service/,
    });
    await found(t, { ...well, DATABASE_CONNECTIONS: '1000' }, 'DATABASE_CONNECTIONS', {
      problem: /1000 connections/,
      remedy: /Lower DATABASE_CONNECTIONS/,
    });
  });

  t.test('problems with the stored data are reported', async (t) => {
    const own = await freshDatabase('postgres');
    const { close, db } = await openDatabase({ url: own.env.DATABASE_URL ?? '' });
    t.teardown(async () => {
      await close();
      await own.drop();
    });
    const env = { ...well, ...own.env };
    await db.execute(sql`
      insert into accounts (id, email, email_key, password_hash, plan, billing_period, plan_changed_at, created_at)
      values (gen_random_uuid(), 'a@b', 'a@b', '', 'gold', 'monthly', now(), now())`);
    await found(t, env, 'PLANS_FILE', { level: 'warning', problem: /"gold"/, remedy: /set-plan/ });
    await db.execute(sql`
      insert into leases (process, expires_at)
      select gen_random_uuid(), now() + interval '1 hour' from generate_series(1, 3)`);
    const [id, unknownId] = [crypto.randomUUID(), crypto.randomUUID()];
    await db.execute(sql`update accounts set id = ${id}::uuid`);
    const operators = (...names: string[]) => ({ ...env, OPERATORS: names.join(',') });
    const isWrong = { level: 'warning', problem: /There is no account "/ };
    await found(t, operators('A@b', 'c@d'), 'OPERATORS', { ...isWrong, remedy: /accounts create c@d/ });
    await found(t, operators(id, unknownId), 'OPERATORS', { ...isWrong, remedy: /Correct the ID/ });
    const both = await diagnose(operators('A@b', id), machine);
    t.same(
      both.filter(({ about }) => about === 'OPERATORS'),
      [],
    );
    await db.execute(sql`
      insert into webhook_messages (account_id, id, at, type, data, status, attempts, due_at, last_attempt_at, error)
      select ${id}::uuid, gen_random_uuid(), now(), 'key.created', '{}', 'pending', 1, now() - interval '1 hour', now(),
             'The host name does not exist.'
      from generate_series(1, 3)`);
    const about = (await diagnose(env, machine)).filter((finding) => finding.about === 'webhooks');
    t.match(about, [
      { level: 'warning', problem: /3 webhook messages should have been sent/, remedy: /Start the service/ },
      { level: 'warning', problem: /3 failed.*does not exist/, remedy: /resolve names/ },
    ]);
    await db.execute(sql`update webhook_messages set status = 'delivered', due_at = null, error = null`);
    const delivered = await diagnose(env, machine);
    t.notOk(delivered.some((finding) => finding.about === 'webhooks'));
    await found(t, env, 'REDIS_URL', { level: 'warning', problem: /3 services/, remedy: /Set REDIS_URL/ });
    await db.execute(sql`
      create or replace function ledger_now() returns timestamptz language sql stable
      as $$ select now() + interval '90 seconds' $$`);
    await found(t, env, 'clock', { problem: /(90|89) s ahead/, remedy: /Synchronize the clocks/ });
    await db.execute(sql`
      create or replace function ledger_now() returns timestamptz language sql stable
      as $$ select now() + interval '30 days' $$`);
    await found(t, env, 'partitions', {
      problem: /no partition for tomorrow/,
      remedy: /Restart the service/,
    });
    await db.execute(sql`update drizzle.__drizzle_migrations set created_at = created_at + 10000000000000`);
    await found(t, env, 'migrations', { problem: /newer version/, remedy: /Use that version/ });
    await db.execute(sql`delete from drizzle.__drizzle_migrations where id > 3`);
    await db.execute(sql`update drizzle.__drizzle_migrations set created_at = created_at - 10000000000000`);
    await found(t, env, 'migrations', {
      level: 'warning',
      problem: /are missing: /,
      remedy: /Make a backup/,
    });
  });

  t.test('Redis problems are reported', async (t) => {
    await found(t, { ...well, REDIS_URL: 'redis://127.0.0.1:9' }, 'REDIS_URL', {
      problem: /ECONNREFUSED/,
      remedy: /Start Redis/,
    });
    const strict = createSocket((socket) => {
      socket.on('error', () => {});
      socket.on('data', () => socket.write('-WRONGPASS invalid username-password pair\r\n'));
    });
    const port = await listen(t, strict);
    await found(t, { ...well, REDIS_URL: `redis://:wrong@127.0.0.1:${port}` }, 'REDIS_URL', {
      problem: /requires a password, or rejects the user or password/,
      remedy: /Correct the user and password/,
    });
  });

  t.test('upstream problems are reported', async (t) => {
    await found(t, { ...chat, CHAT_API_KEY: 'wrong' }, 'CHAT_API_KEY', {
      problem: /rejects the key/,
      remedy: /valid key/,
    });
    await found(t, { ...chat, CHAT_MODEL: 'a=lama' }, 'CHAT_MODEL', {
      problem: /does not list the model "lama"/,
      remedy: /one that it lists: llama/,
    });
    await found(t, { ...chat, CHAT_URL: upstream.replace('/v1', '') }, 'CHAT_URL', {
      level: 'warning',
      problem: /does not exist/,
      remedy: /end in \/v1/,
    });
    await found(t, { ...well, EMBEDDINGS_URL: `http://127.0.0.1:${await freePort()}/v1` }, 'EMBEDDINGS_URL', {
      problem: /ECONNREFUSED/,
      remedy: /Start that server/,
    });
    const page = `http://127.0.0.1:${await listen(t, createServer(status(200, '<html>')))}`;
    await found(t, { ...well, IMAGES_URL: page }, 'IMAGES_URL', {
      problem: /not return JSON/,
      remedy: /base URL/,
    });
    const searx = `http://127.0.0.1:${await listen(t, createServer(status(403)))}/search`;
    const file = (model: string, keyVariable: string) =>
      upstreamsFile({
        upstreams: [{ name: 'gpu', kind: 'openai', url: upstream, keyVariable }],
        models: [{ name: 'public', targets: [{ upstream: 'gpu', model }] }],
      }).env;
    const keys = { RIGHT: 'right', WRONG: 'wrong' };
    await found(
      t,
      { ...well, ...keys, ...file('mistral', 'RIGHT') },
      'the model of the targets on "gpu" in UPSTREAMS_FILE',
      {
        problem: /does not list the model "mistral"/,
        remedy: /set the model of the targets on "gpu" in UPSTREAMS_FILE to one that it lists: llama/,
      },
    );
    await found(t, { ...well, ...keys, ...file('llama', 'WRONG') }, 'the key of "gpu" in UPSTREAMS_FILE', {
      problem: /rejects the key/,
      remedy: /to a valid key/,
    });
    const sdk = (port: number, name = '@ai-sdk/google') =>
      fileWithPackages({
        upstreams: [{ name: 'sdk', kind: 'ai-sdk', package: name, url: `http://127.0.0.1:${port}/v1` }],
        models: [{ name: 'public', targets: [{ upstream: 'sdk', model: 'theirs' }] }],
      });
    await found(t, { ...well, ...sdk(9, '@ai-sdk/none') }, 'UPSTREAMS_FILE', {
      problem: /@ai-sdk\/none is not installed. Run: npm install --prefix \S+ @ai-sdk\/none@3/,
      remedy: /Correct or remove UPSTREAMS_FILE/,
    });
    await found(t, { ...well, ...sdk(await freePort()) }, 'the url of "sdk" in UPSTREAMS_FILE', {
      problem: /ECONNREFUSED/,
      remedy: /Start that server/,
    });
    const strange = await listen(t, createServer(status(404)));
    const findings = await diagnose({ ...well, ...sdk(strange) }, machine);
    t.same(
      findings.filter(({ about }) => about.includes('sdk')),
      [],
      'the API of a third-party package is not checked',
    );
    const closed = `http://127.0.0.1:${await listen(t, createServer(status(401)))}/search`;
    await found(t, { ...well, SEARCH_URL: closed }, 'SEARCH_URL', {
      problem: /requires credentials/,
      remedy: /set SEARCH_URL to another server/,
    });
    await found(t, { ...well, SEARCH_URL: searx }, 'SEARCH_URL', {
      problem: /not return JSON/,
      remedy: /search\.formats/,
    });
  });

  t.test('invalid and expiring upstream certificates are reported', async (t) => {
    const serve = (end?: string) => listen(t, createTlsServer(selfSigned(end), status(200, models())));
    await found(
      t,
      { ...well, CHAT_URL: `https://127.0.0.1:${await serve('210101000000Z')}/v1` },
      'CHAT_URL',
      {
        problem: /expired/,
        remedy: /Renew/,
      },
    );
    await found(t, { ...well, CHAT_URL: `https://127.0.0.1:${await serve()}/v1` }, 'CHAT_URL', {
      problem: /not trusted/,
      remedy: /NODE_EXTRA_CA_CERTS/,
    });
    const soon = new Date(Date.now() + 10.5 * 86_400_000);
    const end = `${soon.toISOString().slice(2, 19).replace(/[-:T]/g, '')}Z`;
    await found(t, { ...well, CHAT_URL: `https://127.0.0.1:${await serve(end)}/v1` }, 'CHAT_URL', {
      level: 'warning',
      problem: /expires in 10 days/,
      remedy: /Renew/,
    });
  });
});
