// Reliability tests 17 to 19 and 21: who may read what a key is answered, and that a foreign page gets nothing done.

import { sql } from 'drizzle-orm';
import fc from 'fast-check';
import t, { type Test } from 'tap';
import { rowsOf } from '../../src/store/client.ts';
import { corsHeaders, unreadableBecause, variesByOrigin } from '../support/cors.ts';
import type { Answer, Client, RequestOptions } from '../support/http.ts';
import { onEachDatabase, plansFile, startTestService } from '../support/service.ts';
import { startUpstream } from '../support/upstream/client.ts';

const PAGE = 'https://app.example.com';
const FOREIGN = 'https://evil.example';
const messages = [{ role: 'user', content: 'Hi' }];

/** How an owner may write an origin, and what a browser sends for it. */
const entries: [entry: string, origin: string][] = [
  ['https://app.example.com', 'https://app.example.com'],
  ['https://APP.example.com:443', 'https://app.example.com'],
  ['https://app.example.com:8443', 'https://app.example.com:8443'],
  ['https://example.com', 'https://example.com'],
  ['https://bücher.example', 'https://xn--bcher-kva.example'],
  ['https://xn--bcher-kva.example:444', 'https://xn--bcher-kva.example:444'],
  ['https://[2001:DB8:0:0::1]', 'https://[2001:db8::1]'],
  ['https://[2001:db8::1]:8443', 'https://[2001:db8::1]:8443'],
  ['https://192.0.2.7', 'https://192.0.2.7'],
  ['https://localhost:3000', 'https://localhost:3000'],
];

const withHost = (origin: string, change: (host: string) => string) =>
  origin.replace(/^https:\/\/(\[.*\]|[^:]+)/, (_, host: string) => `https://${change(host)}`);

/** What another page, or an attacker, may send for an origin. */
const changes: ((origin: string) => string)[] = [
  (origin) => `${origin}.evil.example`,
  (origin) => withHost(origin, (host) => `${host}.evil.example`),
  (origin) => withHost(origin, (host) => `${host}m`),
  (origin) => withHost(origin, (host) => `evil-${host}`),
  (origin) => withHost(origin, (host) => `www.${host}`),
  (origin) => withHost(origin, (host) => `evil.example@${host}`),
  (origin) => withHost(origin, (host) => `${host}.`),
  (origin) => withHost(origin, (host) => host.toUpperCase()),
  (origin) => withHost(origin, (host) => host.replace('xn--bcher-kva', 'bücher')),
  (origin) => withHost(origin, (host) => host.replace('2001:db8::1', '2001:db8:0:0:0:0:0:1')),
  (origin) => withHost(origin, (host) => host.replace('192.0.2.7', '3221225991')),
  (origin) => withHost(origin, (host) => host.replace('app.', '')),
  (origin) => `${origin}:443`,
  (origin) => origin.replace(/:\d+$/, ''),
  (origin) => origin.replace(/(:\d+)?$/, ':8443'),
  (origin) => origin.replace('https:', 'http:'),
  (origin) => origin.replace('https://', 'HTTPS://'),
  (origin) => origin.replace('https://', ''),
  (origin) => `${origin}/`,
  (origin) => `${origin}, ${origin}`,
  (origin) => `${origin} ${FOREIGN}`,
  () => 'null',
  () => '*',
  () => '',
  () => 'undefined',
  () => 'https://',
  () => FOREIGN,
];

/** Everything is asked for with a body that is right, where one is taken. */
const calls: [method: string, path: string, body?: unknown][] = [
  ['POST', '/chat', { message: 'Hi' }],
  ['POST', '/chat', { message: 'Hi', stream: true }],
  ['POST', '/chat/completions', { messages }],
  ['POST', '/chat/completions', { messages, stream: true }],
  ['POST', '/images/generations', { prompt: 'Hi' }],
  ['POST', '/search', { query: 'Hi' }],
  ['GET', '/conversations'],
  ['GET', '/models'],
  ['GET', '/usage'],
];
const from = (origin: string) => ({ headers: { origin } });

onEachDatabase(t, {}, async (t, { client }) => {
  const owner = await client.signUp();
  const { id, key } = await client.createKey(owner);

  await t.test('17: ACAO ⇔ exactly this origin is in the list of the key', async (t) => {
    const runs = { allowed: 0, refused: 0 };
    const sample = fc.record({
      list: fc.uniqueArray(fc.constantFrom(...entries), { maxLength: 4 }),
      origin: fc.constantFrom(...entries.map(([, origin]) => origin)),
      isOfList: fc.boolean(),
      steps: fc.array(fc.constantFrom(...changes), { maxLength: 2 }),
    });
    await fc.assert(
      fc.asyncProperty(sample, async ({ isOfList, list, origin, steps }) => {
        const [first] = list;
        const sent = steps.reduce((text, change) => change(text), isOfList && first ? first[1] : origin);
        // Spaces around a value are no part of it.
        const isListed = list.some(([, one]) => one === sent.trim());
        const allowed_origins = list.map(([entry]) => entry);
        const patched = await client.patch(`/keys/${id}`, { allowed_origins }, { cookie: owner.cookie });
        t.equal(patched.status, 200, patched.text);
        const answer = await client.get('/usage', { key, ...from(sent) });
        runs[isListed ? 'allowed' : 'refused'] += 1;
        const allowed = answer.headers.get('access-control-allow-origin');
        if (allowed !== (isListed ? sent.trim() : null))
          throw new Error(`${sent}: ${allowed} for ${allowed_origins}`);
        if (answer.status !== (isListed ? 200 : 403)) throw new Error(`${sent}: ${answer.status}`);
        if (!isListed && Object.keys(corsHeaders(answer)).length > 0)
          throw new Error(`${sent}: CORS headers`);
      }),
      { numRuns: 250 },
    );
    t.ok(runs.allowed > 20 && runs.refused > 100, JSON.stringify(runs));
  });

  await t.test("no origin, or the service's own: served without a CORS header", async (t) => {
    for (const [method, path, body] of calls) {
      for (const headers of [{}, { origin: client.origin }]) {
        const answer = await client.request(method, path, { body, key, headers });
        t.equal(answer.status, 200, `${method} ${path}`);
        t.same(corsHeaders(answer), {});
        t.ok(variesByOrigin(answer));
      }
    }
  });
});

const upstream = await startUpstream();
t.teardown(() => upstream.stop());
const upstreams = { CHAT_URL: upstream.url, IMAGES_URL: upstream.url, SEARCH_URL: upstream.searchUrl };

/** An account without ceilings and a key for `PAGE`. */
async function pageKey(client: Client, fields: object = {}) {
  const owner = await client.signUp();
  await client.put('/subscription', { plan: 'large', billing_period: 'monthly' }, { cookie: owner.cookie });
  return { owner, ...(await client.createKey(owner, { allowed_origins: [PAGE], ...fields })) };
}

/** Answers that a page of `PAGE` gets with a key that lists it, by status and code. */
async function answersOfEveryKind(t: Test, kind: 'embedded' | 'postgres') {
  const { client, database } = await startTestService(t, kind, {
    ...upstreams,
    ...plansFile(t, { chat: 1 }, 5),
    STREAMS_PER_ACCOUNT: '1',
    UPSTREAM_FIRST_BYTE_SECONDS: '1',
  });
  const { key, owner } = await pageKey(client);
  const seen: [what: string, status: number, code: string | undefined, answer: Answer][] = [];
  const ask = async (
    what: string,
    status: number,
    code: string | undefined,
    method: string,
    path: string,
    options: RequestOptions = {},
  ) => {
    const { headers = {}, ...rest } = options;
    const answer = await client.request(method, path, {
      key,
      ...rest,
      headers: { origin: PAGE, ...headers },
    });
    seen.push([what, status, code, answer]);
  };

  for (const [method, path, body] of calls)
    await ask(`${method} ${path}`, 200, undefined, method, path, { body });
  await ask('a wrong body', 400, 'invalidRequest', 'POST', '/chat', { body: { nonsense: 1 } });
  await ask('broken JSON', 400, 'invalidRequest', 'POST', '/chat', { raw: '{"' });
  await ask('a wrong query', 400, 'invalidRequest', 'GET', '/conversations?limit=x');
  await ask(
    'no such conversation',
    404,
    'notFound',
    'GET',
    '/conversations/01932f5e-7c1a-7b3e-9d2f-3a5b7c9d1e0f',
  );
  await ask('too large', 413, 'payloadTooLarge', 'POST', '/search', {
    raw: `{"query":"${'x'.repeat(2 ** 20)}"}`,
  });
  await ask('a form', 415, 'unsupportedMediaType', 'POST', '/chat', {
    raw: 'a=1',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
  });
  await ask('the engine fails', 502, 'upstreamError', 'POST', '/chat/completions', {
    body: { messages, user: 'fault=status,status=500' },
  });
  await ask('the engine is busy', 503, 'overloaded', 'POST', '/chat/completions', {
    body: { messages, user: 'fault=status,status=429' },
  });
  await ask('the engine hangs', 504, 'upstreamTimeout', 'POST', '/chat/completions', {
    body: { messages, user: 'fault=hang' },
  });
  await ask('a stream that breaks off', 200, undefined, 'POST', '/chat/completions', {
    body: { messages, stream: true, user: 'chunks=10,chunkIntervalMs=20,fault=cut,faultAfter=5' },
  });

  const open = await fetch(`${client.origin}/api/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ messages, stream: true, user: 'chunks=10000,chunkIntervalMs=20' }),
  });
  await ask('too many streams', 429, 'tooManyStreams', 'POST', '/chat', {
    body: { message: 'Hi', stream: true },
  });
  await open.body?.cancel();

  const narrow = await client.createKey(owner, { allowed_origins: [PAGE], scopes: ['models'] });
  await ask('no scope', 403, 'insufficientScope', 'POST', '/chat', {
    key: narrow.key,
    body: { message: 'Hi' },
  });
  await client.delete(`/keys/${narrow.id}`, { cookie: owner.cookie });
  await ask('revoked', 401, 'apiKeyRevoked', 'GET', '/models', { key: narrow.key });
  const expired = await client.createKey(owner, { allowed_origins: [PAGE] });
  await rowsOf(database.db, sql`update api_keys set expires_at = now() where id = ${expired.id}::uuid`);
  await ask('expired', 401, 'apiKeyExpired', 'GET', '/models', { key: expired.key });

  // On the small plan: one chat a day, five requests a minute.
  const small = await client.createKey(await client.signUp(), { allowed_origins: [PAGE] });
  for (const [status, code] of [
    [200, undefined],
    [429, 'quotaExceeded'],
  ] as const)
    await ask('a chat a day', status, code, 'POST', '/chat', { key: small.key, body: { message: 'Hi' } });
  for (let n = 3; n <= 6; n++)
    await ask(
      `request ${n} of 5`,
      n > 5 ? 429 : 200,
      n > 5 ? 'rateLimitExceeded' : undefined,
      'GET',
      '/usage',
      { key: small.key },
    );
  return { client, seen };
}

for (const kind of ['embedded', 'postgres'] as const) {
  t.test(
    `${kind}: 18, 19: an allowed page can read whatever it is answered, errors and streams included`,
    async (t) => {
      const { seen } = await answersOfEveryKind(t, kind);
      for (const [what, status, code, answer] of seen) {
        t.match({ status: answer.status, code: answer.body?.error?.code }, { status, code }, what);
        t.equal(unreadableBecause(answer, PAGE), undefined, `${what} ${status}`);
      }
    },
  );
}

onEachDatabase(t, { ...upstreams, ...plansFile(t) }, async (t, { client }) => {
  await t.test('18, 19: no ACAO where no key is known, and it varies by origin all the same', async (t) => {
    const { key } = await pageKey(client);
    const wrong = `${key.slice(0, -1)}${key.endsWith('a') ? 'b' : 'a'}`;
    const unknown = 'parley_00000000_0000000000000000000000000000000000000000000';
    const cases: [status: number, method: string, path: string, RequestOptions][] = [
      [401, 'POST', '/chat', {}],
      [401, 'GET', '/usage', { key: wrong }],
      [401, 'GET', '/usage', { key: unknown }],
      [401, 'GET', '/usage', { key: 'nonsense' }],
      [401, 'GET', '/usage', { headers: { authorization: 'Basic YTpi' } }],
      [400, 'GET', `/usage?key=${key}`, { key }],
      [405, 'PUT', '/chat', { key }],
      [405, 'DELETE', '/models/a/b', { key }],
    ];
    for (const [status, method, path, { headers = {}, ...options }] of cases) {
      const answer = await client.request(method, path, {
        ...options,
        headers: { origin: PAGE, ...headers },
      });
      t.equal(answer.status, status, `${method} ${path}`);
      t.same(corsHeaders(answer), {}, `${method} ${path}`);
      t.ok(variesByOrigin(answer), `${method} ${path}`);
    }
  });

  await t.test('21: a foreign origin is refused before scope, requests, quota and engine', async (t) => {
    const { key, owner } = await pageKey(client);
    await upstream.reset();
    const remaining = async () => {
      const { body, headers } = await client.get('/usage', { key });
      return { used: body.used, remaining: Number(headers.get('ratelimit-remaining')) };
    };
    const before = await remaining();
    const narrow = await client.createKey(owner, { allowed_origins: [PAGE], scopes: ['usage'] });
    for (const origin of [FOREIGN, 'null', `${PAGE}:8443`, 'http://app.example.com', '']) {
      for (const [method, path, body] of calls) {
        for (const one of [key, narrow.key]) {
          const answer = await client.request(method, path, { body, key: one, ...from(origin) });
          t.match(
            answer,
            { status: 403, body: { error: { code: 'originNotAllowed' } } },
            `${path} ${origin}`,
          );
          t.same(corsHeaders(answer), {});
          t.ok(variesByOrigin(answer));
          t.ok(answer.headers.get('ratelimit-remaining'), 'the account is known, and sees its limits');
        }
      }
    }
    // Broken bodies are not looked at, either.
    t.equal((await client.request('POST', '/chat', { raw: '{"', key, ...from(FOREIGN) })).status, 403);
    t.same(await upstream.calls().then(({ last }) => last), [], 'no engine was called');
    t.same(await remaining(), { used: before.used, remaining: before.remaining - 1 });
  });

  await t.test('21: a key without origins is for servers and the own origin', async (t) => {
    const { key } = await client.createKey(await client.signUp());
    t.equal((await client.get('/usage', { key, ...from(PAGE) })).body.error.code, 'originNotAllowed');
    t.equal((await client.get('/usage', { key, ...from(client.origin) })).status, 200);
    t.equal((await client.get('/usage', { key })).status, 200);
  });

  await t.test(
    'a session on the paths of callers: no CORS header, and nothing done for another site',
    async (t) => {
      const { owner } = await pageKey(client);
      const { cookie } = owner;
      for (const [method, path, body] of calls) {
        const answer = await client.request(method, path, { body, cookie, ...from(PAGE) });
        const expected = method === 'GET' ? 200 : 403;
        t.equal(answer.status, expected, `${method} ${path}`);
        if (expected === 403) t.equal(answer.body.error.code, 'crossSiteRequest');
        t.same(corsHeaders(answer), {});
        t.ok(variesByOrigin(answer));
      }
      t.match((await client.get('/usage', { cookie })).body.used, { chat: 0, images: 0, search: 0 });
    },
  );

  await t.test('a page goes on with the conversations it knows, and lists none', async (t) => {
    const { key, owner } = await pageKey(client);
    const first = await client.post('/chat', { message: 'Hi' }, { key, ...from(PAGE) });
    const conversation_id = first.body.conversation_id;
    const second = await client.post('/chat', { message: 'And?', conversation_id }, { key, ...from(PAGE) });
    t.equal(second.body.conversation_id, conversation_id);
    const path = `/conversations/${conversation_id}`;
    t.equal((await client.get(path, { key, ...from(PAGE) })).body.messages.length, 4);
    t.same((await client.get('/conversations', { key, ...from(PAGE) })).body, {
      data: [],
      next_cursor: null,
    });
    t.equal((await client.get('/conversations', { key, ...from(client.origin) })).body.data.length, 1);
    t.equal((await client.get('/conversations', { key })).body.data.length, 1);

    const other = await client.createKey(owner, { allowed_origins: [PAGE] });
    t.equal((await client.get(path, { key: other.key, ...from(PAGE) })).status, 404);
    const continued = await client.post(
      '/chat',
      { message: 'Hi', conversation_id },
      { key: other.key, ...from(PAGE) },
    );
    t.equal(continued.status, 404);
    t.equal((await client.delete(path, { key: other.key, ...from(PAGE) })).status, 404);
    t.equal((await client.delete(path, { key, ...from(PAGE) })).status, 204);
  });
});
