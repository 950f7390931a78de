// Reliability test 54: canaries pass through every error path, and must not appear in the log or in unexpected columns.
import { setTimeout as sleep } from 'node:timers/promises';
import { sql } from 'drizzle-orm';
import t, { type Test } from 'tap';
import { openDatabase } from '../../src/database/client.ts';
import { cookieOf } from '../support/dashboard.ts';
import { canaries, email, exhaust, Walker, walk } from '../support/error-walk.ts';
import { Client, type OpenApi } from '../support/http.ts';
import { dump, secretsIn } from '../support/leaks.ts';
import { startProcess } from '../support/process.ts';
import { type DatabaseKind, databaseKinds, freshDatabase, plansFile } from '../support/service.ts';
import { startTcpProxy } from '../support/tcp-proxy.ts';
import { startUpstream } from '../support/upstream/client.ts';

/** Prompts are stored with conversations, and with the responses that are kept for retries. */
const promptBelongs =
  /^(messages\.content|conversations\.title|idempotency_keys\.body|stored_responses\.(input|body))$/;
const retryBelongs = /^idempotency_keys\.key$/;

async function run(t: Test, kind: DatabaseKind): Promise<void> {
  const upstream = await startUpstream();
  t.teardown(() => upstream.stop());
  const database = await freshDatabase(kind);
  t.teardown(() => database.drop());
  const { DATABASE_URL: url } = database.env;
  const proxy = url === undefined ? undefined : await startTcpProxy(Number(new URL(url).port));
  t.teardown(() => proxy?.close());
  const behindProxy = new URL(url ?? 'postgres://none');
  if (proxy !== undefined) behindProxy.port = String(proxy.port);
  const env = {
    ...database.env,
    ...(url !== undefined && { DATABASE_URL: behindProxy.href }),
    ...plansFile(t, { search: 60 }),
    CHAT_URL: upstream.url,
    IMAGES_URL: upstream.url,
    EMBEDDINGS_URL: upstream.url,
    SEARCH_URL: upstream.searchUrl,
    UPSTREAM_FIRST_BYTE_SECONDS: '1',
    UPSTREAM_IDLE_SECONDS: '1',
    STREAMS_PER_ACCOUNT: '3',
    CALLS_PER_ACCOUNT: '55',
    BILLING: 'managed',
    LOG_LEVEL: 'trace',
  };
  let log = '';
  let service = await startProcess(t, env);
  const document = (await (await fetch(`${service.origin}/openapi.json`)).json()) as OpenApi;
  const walker = new Walker(new Client(service.origin, document));
  const { newPassword, password, prompt } = canaries;
  const owner = await walker.client.signUp(email, password);
  const { key } = await walker.client.createKey(owner);
  const signIn = () => walker.client.post('/auth/login', { email, password });
  const other = cookieOf(await signIn());
  await walker.ask('POST', '/chat', { body: { message: prompt }, key });
  await walk({ service, upstream, walker }, { cookie: owner.cookie, key });
  await exhaust({ service, upstream, walker }, owner, key);

  // 500: statements fail with the canaries among their parameters.
  const restart = async () => {
    await service.end();
    log += service.output();
    // The proxy may drop the first connection after an outage.
    service = await startProcess(t, env).catch(() => startProcess(t, env));
    walker.client = new Client(service.origin, document);
  };
  /** Changes the database directly. The embedded database requires the service to be stopped. */
  const byHand = async (...statements: string[]) => {
    if (kind === 'embedded') await service.end();
    const opened = await openDatabase(url ? { url } : { dataDir: String(database.env.DATA_DIR) });
    for (const statement of statements) await opened.db.execute(sql.raw(statement));
    await opened.close();
    if (kind === 'embedded') await restart();
  };
  await byHand('alter table messages rename to messages_gone');
  await walker.ask('POST', '/chat', { body: { message: prompt }, key });
  await walker.ask('GET', '/conversations', { key });
  await byHand(
    'alter table messages_gone rename to messages',
    'alter table sessions rename to sessions_gone',
  );
  await walker.ask('POST', '/auth/login', { body: { email, password } });
  await walker.ask('GET', '/usage', { cookie: other });
  await byHand('alter table sessions_gone rename to sessions');

  // 503: the database is down, and then it hangs.
  for (const fault of proxy === undefined ? [] : ['refuse', 'blackHole']) {
    if (fault === 'refuse') proxy?.refuse();
    else proxy?.blackHole(true);
    const asked = Promise.all([
      walker.ask('POST', '/chat', { body: { message: prompt }, key }),
      walker.ask('POST', '/search', { body: { query: prompt }, key }),
      walker.ask('GET', '/account', { cookie: other }),
      walker.ask('POST', '/auth/login', { body: { email, password } }),
      walker.ask('POST', '/auth/signup', { body: { email: 'another@example.com', password } }),
    ]).catch(() => undefined);
    // The outage tests check that all of them get a response.
    await Promise.race([asked, sleep(15_000)]);
    if (fault === 'refuse') proxy?.accept();
    else proxy?.blackHole(false);
  }
  if (proxy !== undefined) await restart();
  const changed = await walker.ask('POST', '/account/password', {
    body: { current_password: password, new_password: newPassword },
    cookie: other,
  });
  t.equal(changed.status, 204, changed.text);
  const fresh = cookieOf(changed);
  await walker.ask('POST', '/auth/logout', { cookie: fresh });
  await walker.ask('GET', '/account', { cookie: fresh });
  await service.end();
  log += service.output();

  const idOf = (cookie: string) => decodeURIComponent(cookie.split('=')[1] ?? '').split('.')[0] ?? '';
  const secrets = {
    ...canaries,
    key,
    secretOfKey: key.slice(16),
    cookie: idOf(owner.cookie),
    otherCookie: idOf(other),
    freshCookie: idOf(fresh),
  };
  await t.test('every documented error status occurred', async (t) => {
    const documented = new Set(
      [...JSON.stringify(document.paths).matchAll(/"(4\d\d|5\d\d)":\{/g)].map(([, status]) => Number(status)),
    );
    const codes = new Set(
      [...JSON.stringify(document.paths).matchAll(/- `(\w+)`:/g)].map(([, code]) => code),
    );
    t.same(
      [...documented].filter((status) => !walker.statuses.has(status)),
      [],
    );
    t.comment(
      'codes that did not occur:',
      [...codes].filter((code) => !walker.codes.has(String(code))).join(),
    );
    t.ok(walker.codes.size >= codes.size - 4, `${walker.codes.size} of ${codes.size} codes`);
  });
  await t.test('the log contains no canaries', async (t) => {
    t.ok(log.split('\n').length > 1000 && /"msg":"request completed"/.test(log), 'the log is not empty');
    t.ok(/"sqlState":"42P01"/.test(log), 'failed statements are logged');
    t.ok(/"type":"UpstreamProblem"/.test(log), 'upstream errors are logged');
    t.same(secretsIn(log, { ...secrets, email }), []);
  });
  await t.test('error responses contain no credentials', async (t) => {
    const { prompt: _, retry: __, ...credentials } = secrets;
    t.same(secretsIn(walker.told, credentials), []);
  });
  await t.test(
    'the database stores prompts only with conversations and retries, and no credentials in plain text',
    async (t) => {
      const opened = await openDatabase(url ? { url } : { dataDir: String(database.env.DATA_DIR) });
      const columns = await dump(opened.db);
      await opened.close();
      t.match(
        secretsIn(columns['messages.content'] ?? '', secrets),
        ['prompt'],
        'the check finds an expected prompt',
      );
      t.match(secretsIn(columns['accounts.email'] ?? '', { email }), ['email']);
      for (const [column, text] of Object.entries(columns)) {
        const allowed = [promptBelongs.test(column) && 'prompt', retryBelongs.test(column) && 'retry'];
        t.same(
          secretsIn(text, secrets).filter((name) => !allowed.includes(name)),
          [],
          column,
        );
      }
    },
  );
}

for (const kind of databaseKinds) t.test(kind, { timeout: 300_000 }, (t) => run(t, kind));
