// Reliability test 3 and contract section 3: secrets and messages are never logged, at any level.
import t from 'tap';
import { openDatabase } from '../../src/database/client.ts';
import { loggedPath } from '../../src/server-options.ts';
import { Client, type OpenApi } from '../support/http.ts';
import { dump } from '../support/leaks.ts';
import { startProcess } from '../support/process.ts';
import { askRaw } from '../support/raw-http.ts';
import { databaseKinds, freshDatabase } from '../support/service.ts';
import { startUpstream } from '../support/upstream/client.ts';

const onceEncoded = (text: string) =>
  [...text].map((one) => `%${one.charCodeAt(0).toString(16).padStart(2, '0')}`).join('');
/** Encodings that hide a key from a plain text search. */
const encodings: Record<string, (key: string) => string> = {
  'one letter': (key) => key.replace('parley_', 'p%61rley_'),
  'one letter, twice': (key) => key.replace('parley_', 'parley%255f'),
  once: onceEncoded,
  twice: (key) => onceEncoded(key).replaceAll('%', '%25'),
  'twice, each character': (key) => onceEncoded(onceEncoded(key)),
  'three times': (key) => onceEncoded(key).replaceAll('%', '%2525'),
};

/** Percent-decodes until nothing is left to decode. */
function decodedWhole(text: string): string {
  const once = text.replace(/%([0-7][0-9a-f])/gi, (_, hex) => String.fromCharCode(Number.parseInt(hex, 16)));
  return once === text ? text : decodedWhole(once);
}

t.test(
  '80: a key in a path, query, header, or body, however encoded, never reaches the log or the database',
  async (t) => {
    const database = await freshDatabase('embedded');
    const service = await startProcess(t, { ...database.env, LOG_LEVEL: 'trace', TRUST_PROXY: 'loopback' });
    const document = (await (await fetch(`${service.origin}/openapi.json`)).json()) as OpenApi;
    const client = new Client(service.origin, document);
    const owner = await client.signUp();
    const { key } = await client.createKey(owner);
    const { cookie } = owner;
    const ask = (path: string, headers: Record<string, string> = {}, method = 'GET') =>
      askRaw(service.port, path, headers, method);

    for (const [title, encode] of Object.entries(encodings)) {
      const hidden = encode(key);
      for (const path of [
        `/${hidden}`,
        `/x/${hidden}/y`,
        `/api/v1/models/${hidden}`,
        `/docs/guides/${hidden}`,
        `/assets/${hidden}`,
      ]) {
        const { status } = await ask(path, { authorization: `Bearer ${key}` });
        t.ok(status < 500, `${title}: ${path.slice(0, 20)} → ${status}`);
      }
      const inQuery = await ask(`/api/v1/usage?x=${hidden}`, { authorization: `Bearer ${key}` });
      t.match(inQuery.text, 'apiKeyInQuery', `${title}: in the query`);
      for (const path of ['/', '/api/v1/usage', '/api/v1/keys']) {
        await ask(path, { cookie, 'x-forwarded-for': hidden, 'user-agent': hidden });
        await ask(path, { cookie, authorization: `Basic ${hidden}`, origin: hidden, referer: hidden });
        await ask(path, { authorization: `Bearer ${hidden}`, cookie: `parley_session=${hidden}` });
        await ask('/api/v1/models', { 'x-api-key': hidden, 'anthropic-version': hidden });
        await ask(path, {
          host: hidden,
          'x-forwarded-host': hidden,
          accept: hidden,
          'accept-encoding': hidden,
        });
      }
      const headers = {
        'idempotency-key': hidden.slice(0, 250),
        'user-agent': hidden,
        'x-forwarded-for': hidden,
      };
      await client.post('/chat', { message: 'Hello', model: hidden, nonsense: hidden }, { key, headers });
      await client.post('/chat', { message: 'Hello', model: hidden }, { key, headers });
      await client.post(
        '/auth/login',
        { email: `${hidden.slice(0, 60)}@example.com`, password: hidden.slice(0, 200) },
        { headers },
      );
      await client.post('/auth/login', { email: owner.email, password: hidden.slice(0, 200) }, { headers });
      await client.post('/auth/login', { email: owner.email, password: owner.password }, { headers });
      await client.request('POST', '/chat', { raw: `{"message":"${hidden}`, key });
    }
    const events = await client.get('/events?limit=200', { cookie });
    const sessions = await client.get('/sessions', { cookie });
    await service.end();

    const secret = key.slice(16);
    t.match(service.output(), /"msg":"request completed"/);
    const told = service
      .output()
      .split('\n')
      .filter((line) => decodedWhole(line).includes(secret));
    t.same(told.slice(0, 3), [], 'the log');
    t.ok(events.body.data.length > 6 && sessions.status === 200);
    t.notOk(decodedWhole(events.text + sessions.text).includes(secret), 'the audit trail and the sessions');
    const opened = await openDatabase({ dataDir: String(database.env.DATA_DIR) });
    const columns = Object.entries(await dump(opened.db));
    await opened.close();
    t.ok(columns.some(([column, text]) => column === 'accounts.email' && text.includes(owner.email)));
    const holding = columns.filter(([, text]) => decodedWhole(text).includes(secret));
    t.same(
      holding.map(([column]) => column),
      [],
      'the database',
    );
    await database.drop();
  },
);

for (const kind of databaseKinds) {
  t.test(
    `${kind}: keys, passwords, cookies, and messages are not logged, even at the trace level`,
    async (t) => {
      const database = await freshDatabase(kind);
      const service = await startProcess(t, { ...database.env, LOG_LEVEL: 'trace' });
      const document = (await (await fetch(`${service.origin}/openapi.json`)).json()) as OpenApi;
      const client = new Client(service.origin, document);
      const password = 'canary password 4711';
      const owner = await client.signUp('canary@example.com', password);
      const { key } = await client.createKey(owner);
      const message = 'canary message 0815';

      await client.post('/chat', { message }, { key });
      await client.post('/chat', { message, nonsense: message }, { key });
      await client.post('/auth/login', { email: owner.email, password: `${password}!` });
      const asked = { max_tokens: 9, messages: [{ role: 'user', content: message }] };
      await client.post('/messages', asked, { headers: { 'x-api-key': key } });
      await client.post('/messages', asked, { headers: { 'x-api-key': `${key}x` } });
      for (const path of [
        `/usage?api_key=${key}`,
        `/usage?x=${key}`,
        `/usage;api_key=${key}`,
        `/usage%3Fapi_key=${key}`,
        `/models/${key}`,
      ]) {
        await client.get(path, { key });
        await fetch(`${service.origin}/api/v1${path.replace('parley_', '%70arley_')}`);
      }
      await client.request('POST', '/chat', { raw: `{"message":"${message}"`, key });
      await client.post('/keys', { name: key, scopes: [key] }, { cookie: owner.cookie });
      await service.end();

      const log = service.output();
      t.match(log, /"msg":"request completed"/);
      for (const secret of [key, key.slice(16), password, owner.cookie.split('=')[1] ?? '?', message]) {
        t.notOk(log.includes(secret), `${secret.slice(0, 20)}…`);
        t.notOk(log.includes(encodeURIComponent(secret)), `${secret.slice(0, 20)}… encoded`);
      }
      await database.drop();
    },
  );
}

t.test('a path without a key is logged unchanged, without its query', async (t) => {
  t.equal(loggedPath('/api/v1/models/a%2Fb?x=1'), '/api/v1/models/a%2Fb');
  t.equal(loggedPath(undefined), '');
});

t.test('a request is logged in one line with its method, path, address, status, and duration', async (t) => {
  const database = await freshDatabase('postgres');
  const service = await startProcess(t, { ...database.env, LOG_LEVEL: 'info' });
  const response = await fetch(`${service.origin}/api/v1/plans`);
  const id = response.headers.get('x-request-id');
  await response.text();
  await service.end();
  const lines = service
    .output()
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line));
  const own = lines.filter(({ reqId }) => reqId === id);
  t.match(own, [
    {
      level: 30,
      msg: 'request completed',
      req: { method: 'GET', path: '/api/v1/plans', address: '127.0.0.1' },
      res: { statusCode: 200 },
      responseTime: Number,
    },
  ]);
  t.equal(own.length, 1);
  await database.drop();
});

t.test(
  'a request is also logged in one line if its client disconnects or its path cannot be decoded',
  async (t) => {
    const database = await freshDatabase('postgres');
    const upstream = await startUpstream();
    const service = await startProcess(t, { ...database.env, LOG_LEVEL: 'info', CHAT_URL: upstream.url });
    const document = (await (await fetch(`${service.origin}/openapi.json`)).json()) as OpenApi;
    const client = new Client(service.origin, document);
    const { key } = await client.createKey(await client.signUp());
    const leaving = new AbortController();
    const response = await fetch(`${service.origin}/api/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({
        stream: true,
        user: 'chunks=100000',
        messages: [{ role: 'user', content: 'Hi' }],
      }),
      signal: leaving.signal,
    });
    leaving.abort();
    const unreadable = await askRaw(service.port, '/%zz');
    t.equal(unreadable.status, 400);
    await service.end();
    const lines = service
      .output()
      .split('\n')
      .filter((line) => line.startsWith('{'))
      .map((line) => JSON.parse(line));
    const id = response.headers.get('x-request-id');
    const own = lines.filter(({ reqId }) => reqId === id);
    t.match(own, [{ msg: 'request aborted', req: { path: '/api/v1/chat/completions' } }]);
    t.equal(own.length, 1, 'one line');
    t.match(
      lines.filter(({ req }) => req?.path === '/%zz'),
      [{ msg: 'request completed', res: { statusCode: 400 } }],
    );
    await upstream.stop();
    await database.drop();
  },
);
