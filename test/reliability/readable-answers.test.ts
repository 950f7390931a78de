// Reliability tests 18 and 19: a page with an allowed origin can read every response.
import { sql } from 'drizzle-orm';
import t, { type Test } from 'tap';
import { rowsOf } from '../../src/database/client.ts';
import { corsHeaders, PAGE, pageCalls, pageKey, unreadableBecause, variesByOrigin } from '../support/cors.ts';
import type { Answer, RequestOptions } from '../support/http.ts';
import { plansFile, startTestService } from '../support/service.ts';
import { startUpstream } from '../support/upstream/client.ts';

const messages = [{ role: 'user', content: 'Hi' }];
const upstream = await startUpstream();
t.teardown(() => upstream.stop());
const upstreams = {
  CHAT_URL: upstream.url,
  IMAGES_URL: upstream.url,
  EMBEDDINGS_URL: upstream.url,
  SEARCH_URL: upstream.searchUrl,
};

/** Responses of every kind to a page of `PAGE` with a key that lists it, with the expected status and code. */
async function answersOfEveryKind(t: Test) {
  const { client, database } = await startTestService(t, 'postgres', {
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

  for (const [method, path, body] of pageCalls)
    await ask(`${method} ${path}`, 200, undefined, method, path, { body });
  await ask('an invalid body', 400, 'invalidRequest', 'POST', '/chat', { body: { nonsense: 1 } });
  await ask('broken JSON', 400, 'invalidRequest', 'POST', '/chat', { raw: '{"' });
  await ask('an invalid query', 400, 'invalidRequest', 'GET', '/usage?limit=x');
  await ask('listing conversations of other visitors', 403, 'listingNotAllowed', 'GET', '/conversations');
  await ask(
    'an unknown conversation',
    404,
    'notFound',
    'GET',
    '/conversations/01932f5e-7c1a-7b3e-9d2f-3a5b7c9d1e0f',
  );
  await ask('a body over the limit', 413, 'payloadTooLarge', 'POST', '/search', {
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
  await ask('a truncated stream', 200, undefined, 'POST', '/chat/completions', {
    body: { messages, stream: true, user: 'chunks=10,chunkIntervalMs=20,fault=cut,faultAfter=5' },
  });

  const retried = { headers: { 'idempotency-key': 'one' }, body: { message: 'Hi' } };
  for (const what of ['a first request', 'its replay'])
    await ask(what, 200, undefined, 'POST', '/chat', retried);
  t.equal(seen.at(-1)?.[3].headers.get('idempotency-replayed'), 'true');
  const changed = { ...retried, body: { message: 'Hi!' } };
  await ask('a retry with a different body', 422, 'idempotencyMismatch', 'POST', '/chat', changed);

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
  await ask('a missing scope', 403, 'insufficientScope', 'POST', '/chat', {
    key: narrow.key,
    body: { message: 'Hi' },
  });
  await client.delete(`/keys/${narrow.id}`, { cookie: owner.cookie });
  await ask('a revoked key', 401, 'apiKeyRevoked', 'GET', '/models', { key: narrow.key });
  const expired = await client.createKey(owner, { allowed_origins: [PAGE] });
  await rowsOf(database.db, sql`update api_keys set expires_at = now() where id = ${expired.id}::uuid`);
  await ask('an expired key', 401, 'apiKeyExpired', 'GET', '/models', { key: expired.key });

  // The small plan allows one chat a day and five requests a minute.
  const small = await client.createKey(await client.signUp(), { allowed_origins: [PAGE] });
  for (const [status, code] of [
    [200, undefined],
    [429, 'quotaExceeded'],
  ] as const)
    await ask('a quota of one chat a day', status, code, 'POST', '/chat', {
      key: small.key,
      body: { message: 'Hi' },
    });
  for (let n = 3; n <= 6; n++)
    await ask(
      `request ${n} of 5`,
      n > 5 ? 429 : 200,
      n > 5 ? 'rateLimitExceeded' : undefined,
      'GET',
      '/usage',
      { key: small.key },
    );
  return seen;
}

t.test(
  '18, 19: a page with an allowed origin can read every response, including errors and streams',
  async (t) => {
    for (const [what, status, code, answer] of await answersOfEveryKind(t)) {
      t.match({ status: answer.status, code: answer.body?.error?.code }, { status, code }, what);
      t.equal(unreadableBecause(answer, PAGE), undefined, `${what} ${status}`);
    }
  },
);

t.test(
  '18, 19: responses without a valid key, or with 405, have no CORS headers but still vary by Origin',
  async (t) => {
    const { client } = await startTestService(t, 'embedded', plansFile(t));
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
  },
);
