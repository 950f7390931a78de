// Reliability test 54: canaries through every error path; then the log and the database hold them where they belong only.
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { sql } from 'drizzle-orm';
import t, { type Test } from 'tap';
import { openDatabase } from '../../src/store/client.ts';
import { cookieOf } from '../support/dashboard.ts';
import { type Answer, Client, type OpenApi, type RequestOptions } from '../support/http.ts';
import { dump, secretsIn } from '../support/leaks.ts';
import { type ServiceProcess, startProcess } from '../support/process.ts';
import { type DatabaseKind, databaseKinds, freshDatabase, plansFile } from '../support/service.ts';
import { startTcpProxy } from '../support/tcp-proxy.ts';
import { startUpstream, type Upstream } from '../support/upstream/client.ts';

const canaries = {
  password: 'canary-Password-8f3a1c',
  newPassword: 'canary-NewPassword-77be02',
  wrongPassword: 'canary-WrongPassword-19dd5e',
  prompt: 'canaryPrompt4d2e9b',
  retry: 'canary-Retry-5b6c7d',
};
const email = 'canary-owner@example.com';
/** A prompt is kept where the conversation is kept, and with the copy of an answer that a retry gets. */
const promptBelongs = /^(messages\.content|conversations\.title|idempotency_keys\.body)$/;
const retryBelongs = /^idempotency_keys\.key$/;

/** Bytes as they are, and what comes back within a moment. */
const sendRaw = (port: number, text: string) =>
  new Promise<string>((resolve) => {
    const socket = connect(port, '127.0.0.1', () => socket.write(text));
    let received = '';
    socket.on('data', (data) => {
      received += data;
    });
    for (const end of ['close', 'error']) socket.on(end, () => resolve(received));
    setTimeout(() => socket.destroy(), 2000).unref();
  });

/** Asks what a walk asks, and remembers every status and code. */
class Walker {
  readonly codes = new Set<string>();
  readonly statuses = new Set<number>();
  /** Everything that clients were told of errors. */
  told = '';
  client: Client;

  constructor(client: Client) {
    this.client = client;
  }

  async ask(method: string, path: string, options: RequestOptions = {}): Promise<Answer> {
    const answer = await this.client.request(method, path, options);
    this.statuses.add(answer.status);
    if (answer.status >= 400) {
      this.codes.add(answer.body?.error?.code);
      this.told += `${answer.text}\n${JSON.stringify([...answer.headers])}\n`;
    }
    return answer;
  }
}

type Setting = { walker: Walker; service: ServiceProcess; upstream: Upstream };
type Credentials = { cookie: string; key: string };

/** Every code that needs no broken database. */
async function walk({ service, upstream, walker }: Setting, { cookie, key }: Credentials): Promise<void> {
  const { password, prompt, wrongPassword } = canaries;
  const chat = { message: prompt };
  const messages = [
    { role: 'system', content: prompt },
    { role: 'user', content: prompt },
  ];
  const calls: [string, unknown][] = [
    ['/chat', chat],
    ['/chat', { ...chat, stream: true, instructions: prompt }],
    ['/chat/completions', { messages }],
    ['/chat/completions', { messages, stream: true }],
    ['/images/generations', { prompt }],
    ['/search', { query: prompt }],
  ];
  const post = (path: string, body: unknown, options: RequestOptions = {}) =>
    walker.ask('POST', path, { body, key, ...options });

  // 400, 413, 415, 422
  for (const [path, body] of calls) {
    await post(path, { ...(body as object), message: [prompt], nonsense: prompt });
    await post(`${path}?api_key=${key}&q=${prompt}`, body);
    await post(path, undefined, { raw: `{"message":"${prompt}"` });
    await post(path, undefined, { raw: `{"message":"${prompt}\\u0000"}` });
    await post(path, undefined, { raw: prompt, headers: { 'content-type': 'text/plain' } });
  }
  await post('/search', { query: `${prompt} `.repeat(100_000) });
  const retry = { 'idempotency-key': canaries.retry };
  await Promise.all([
    post('/chat', { ...chat, store: false }, { headers: retry }),
    post('/chat', { ...chat, store: false }, { headers: retry }),
  ]);
  await post('/chat', { message: `${prompt} again`, store: false }, { headers: retry });
  await sendRaw(service.port, `GET / HTTP/1.1\r\nCookie: ${cookie}\r\nAuthorization: ${key}\n\n${prompt}`);
  await sendRaw(
    service.port,
    `POST /api/v1/chat HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\nContent-Type: application/json\r\nContent-Length: 500\r\n\r\n{"message":"${prompt}"`,
  );

  // 401, 403, 404, 405
  await walker.ask('GET', '/usage');
  await walker.ask('GET', '/account', { cookie: `${cookie}x` });
  await walker.ask('GET', '/usage', { key: `${key.slice(0, -1)}!` });
  await walker.ask('GET', '/keys', { key, cookie });
  await walker.ask('GET', `/models/${key}`, { key });
  await walker.ask('GET', `/${key}/nothing-here`, { cookie });
  await walker.ask('PUT', `/keys/${key}`, { cookie });
  await walker.ask('DELETE', '/usage', { key });
  await post('/chat', { ...chat, model: prompt });
  await post('/chat', { ...chat, conversation_id: '01932f5e-7c1a-7b3e-9d2f-3a5b7c9d1e0f' });
  for (const headers of [{ 'sec-fetch-site': 'cross-site' }, { origin: 'https://evil.example' }])
    for (const [path, body] of calls) await walker.ask('POST', path, { body, cookie, headers });
  await post('/chat', chat, { headers: { origin: 'https://evil.example' } });
  const managed = { plan: 'large', billing_period: 'yearly' };
  await walker.ask('PUT', '/subscription', { body: managed, cookie });

  // Passwords: 400, 401, 409, 429
  const wrong = { email, password: wrongPassword };
  await walker.ask('POST', '/auth/login', { body: { ...wrong, nonsense: password } });
  await walker.ask('POST', '/auth/login', { raw: `{"email":"${email}","password":"${password}"` });
  await walker.ask('POST', '/auth/signup', { body: { email, password } });
  await walker.ask('PATCH', '/account', { body: { email, current_password: wrongPassword }, cookie });
  const change = { current_password: wrongPassword, new_password: password };
  await walker.ask('POST', '/account/password', { body: change, cookie });
  for (let n = 0; n < 12; n += 1) await walker.ask('POST', '/auth/login', { body: wrong });

  // What an upstream does: 502, 503, 504, 400; it repeats the prompt where it can.
  const message = `Cannot answer "${prompt}" for ${prompt}.`;
  const faults = [
    { fault: 'status', status: 400, message, param: 'messages' },
    { fault: 'status', status: 422, message, code: 'invalid_prompt' },
    { fault: 'status', status: 401, message, code: 'invalid_api_key' },
    { fault: 'status', status: 404, message: `The model ${prompt} does not exist` },
    { fault: 'status', status: 429, message },
    { fault: 'status', status: 500, message },
    { fault: 'redirect' },
    { fault: 'content-type' },
    { fault: 'bad-json' },
    { fault: 'error-body', message },
    { fault: 'reset' },
    { fault: 'refuse' },
    { fault: 'truncate', faultAfter: 0 },
    { fault: 'error-event', faultAfter: 1, message },
    { fault: 'bad-event', faultAfter: 1 },
    { fault: 'cut', faultAfter: 1 },
    { fault: 'hang' },
  ] as const;
  for (const fault of faults) {
    await upstream.configure(fault);
    await Promise.all(calls.map(([path, body]) => post(path, body)));
  }
  const echo = [{ message: { content: prompt } }, { index: 0, message: prompt }];
  for (const settings of [
    { completion: { choices: echo } },
    { completion: { error: { message, code: prompt.repeat(9) } } },
    { completion: prompt },
    { images: { data: [{ url: `https://x.example/${prompt}` }] }, search: { results: prompt } },
    { events: [`{"choices": ${prompt}`, `{"error":{"message":"${message}"}}`] },
  ]) {
    await upstream.configure(settings);
    await Promise.all(calls.map(([path, body]) => post(path, body)));
  }
  await upstream.configure({});

  // 503 overloaded, and a client that leaves.
  const flood = Array.from({ length: 120 }, (_, n) =>
    walker.ask('POST', '/auth/login', { body: { email: `flood-${n}@example.com`, password: wrongPassword } }),
  );
  await Promise.all(flood);
  const leaving = new AbortController();
  await upstream.configure({ firstChunkDelayMs: 1000 });
  const left = fetch(`${service.origin}/api/v1/chat`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify(chat),
    signal: leaving.signal,
  }).catch(() => undefined);
  await sleep(300);
  leaving.abort();
  await left;
  // 429 tooManyStreams
  await Promise.all(Array.from({ length: 4 }, () => post('/chat', { ...chat, stream: true })));
  await upstream.configure({});
}

/** 429 quotaExceeded, 401 of keys that are no more, 429 of keys and minutes. */
async function exhaust({ walker }: Setting, owner: { cookie: string }, full: string): Promise<void> {
  const { cookie } = owner;
  const { prompt } = canaries;
  const searches = Array.from({ length: 70 }, () =>
    walker.ask('POST', '/search', { body: { query: prompt }, key: full }),
  );
  await Promise.all(searches);
  const narrow = await walker.client.createKey(owner, { name: 'Narrow', scopes: ['models'] });
  await walker.ask('POST', '/chat', { body: { message: prompt }, key: narrow.key });
  const expiring = { name: 'Soon', scopes: ['chat'], expires_at: new Date(Date.now() + 1500).toISOString() };
  const soon = await walker.client.createKey(owner, expiring);
  await walker.ask('DELETE', `/keys/${narrow.id}`, { cookie });
  await walker.ask('POST', '/chat', { body: { message: prompt }, key: narrow.key });
  for (let n = 0; n < 6; n += 1)
    await walker.ask('POST', '/keys', { body: { name: 'More', scopes: ['chat'] }, cookie });
  await sleep(1600);
  await walker.ask('POST', '/chat', { body: { message: prompt }, key: soon.key });
  const minute = Array.from({ length: 330 }, () => walker.ask('GET', '/account', { cookie }));
  await Promise.all(minute);
}

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
    SEARCH_URL: upstream.searchUrl,
    UPSTREAM_FIRST_BYTE_SECONDS: '1',
    UPSTREAM_IDLE_SECONDS: '1',
    STREAMS_PER_ACCOUNT: '3',
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

  // 500: statements that fail with the canaries among their parameters.
  const restart = async () => {
    await service.end();
    log += service.output();
    service = await startProcess(t, env);
    walker.client = new Client(service.origin, document);
  };
  /** Changes the database by hand: Postgres beside the service, the embedded one only while that is down. */
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

  // 503: the database is away, and then it hangs.
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
    // Whether all of them are answered is for the tests of outages.
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
  await t.test('every documented status was met', async (t) => {
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
      'codes that were not met:',
      [...codes].filter((code) => !walker.codes.has(String(code))).join(),
    );
    t.ok(walker.codes.size >= codes.size - 4, `${walker.codes.size} of ${codes.size} codes`);
  });
  await t.test('the log holds none of them', async (t) => {
    t.ok(log.split('\n').length > 1000 && /"msg":"request completed"/.test(log), 'and there is a log');
    t.ok(/"sqlState":"42P01"/.test(log), 'that tells of failed statements');
    t.ok(/"type":"UpstreamProblem"/.test(log), 'and of upstreams');
    t.same(secretsIn(log, { ...secrets, email }), []);
  });
  await t.test('what clients are told of errors holds no credential', async (t) => {
    const { prompt: _, retry: __, ...credentials } = secrets;
    t.same(secretsIn(walker.told, credentials), []);
  });
  await t.test('the database holds the prompt where conversations are kept, and nothing else', async (t) => {
    const opened = await openDatabase(url ? { url } : { dataDir: String(database.env.DATA_DIR) });
    const columns = await dump(opened.db);
    await opened.close();
    t.match(
      secretsIn(columns['messages.content'] ?? '', secrets),
      ['prompt'],
      'where it is looked for, it is found',
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
  });
}

for (const kind of databaseKinds) t.test(kind, (t) => run(t, kind));
