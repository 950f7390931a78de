// Preflights, and the paths that support CORS. Responses to a key's actual requests are covered in
// test/reliability/allowed-origins.long.test.ts and foreign-origins.long.test.ts.
import { sql } from 'drizzle-orm';
import postgres from 'postgres';
import t from 'tap';
import { rowsOf } from '../../src/database/client.ts';
import { corsHeaders, variesByOrigin } from '../support/cors.ts';
import { onEachDatabase, plansFile, startTestService } from '../support/service.ts';
import { eventually } from '../support/upstream/engine.ts';

const LISTED = 'https://app.example.com';
const API = '/api/v1';
const NO_ID = '01932f5e-7c1a-7b3e-9d2f-3a5b7c9d1e0f';

type Preflight = { path?: string; origin?: string; method?: string; headers?: string };

const preflighter =
  (service: string) =>
  async ({ path = '/chat', origin = LISTED, method = 'POST', headers }: Preflight = {}) => {
    const answer = await fetch(`${service}${API}${path}`, {
      method: 'OPTIONS',
      headers: {
        origin,
        'access-control-request-method': method,
        ...(headers !== undefined && { 'access-control-request-headers': headers }),
      },
    });
    return { status: answer.status, headers: answer.headers, text: await answer.text() };
  };

onEachDatabase(t, {}, async (t, service) => {
  const { client, database, paths: known } = service;
  const owner = await client.signUp();
  const { key } = await client.createKey(owner, { allowed_origins: [LISTED, 'https://bücher.example'] });
  const preflight = preflighter(client.origin);

  const paths = [...known.methodsOf.keys()]
    .filter((url) => url.startsWith(API))
    .map((url) => ({ path: url.slice(API.length).replace(':id', NO_ID).replace('*', 'a/b'), url }));
  const pathsOf = (isCaller: boolean) =>
    paths.filter(({ url }) => (known.accessOf(url) === 'caller') === isCaller).map(({ path }) => path);
  const callerPaths = pathsOf(true);
  const otherPaths = pathsOf(false);
  t.ok(callerPaths.length >= 9 && otherPaths.length >= 12, JSON.stringify({ callerPaths, otherPaths }));

  await t.test(
    'OPTIONS on every path for callers: 204 with CORS headers for an origin that an active key lists',
    async (t) => {
      for (const path of callerPaths) {
        const answer = await preflight({ path, headers: 'authorization,content-type' });
        t.equal(answer.status, 204, path);
        t.equal(answer.text, '');
        t.same(
          corsHeaders(answer),
          {
            'access-control-allow-origin': LISTED,
            'access-control-allow-methods': 'GET, POST, DELETE',
            'access-control-allow-headers': 'authorization, content-type',
            'access-control-max-age': '600',
          },
          path,
        );
        t.ok(variesByOrigin(answer), path);
        t.equal(answer.headers.get('cache-control'), 'no-store');
      }
      const encoded = await preflight({ origin: 'https://xn--bcher-kva.example' });
      t.equal(encoded.headers.get('access-control-allow-origin'), 'https://xn--bcher-kva.example');
    },
  );

  await t.test('OPTIONS: 204 without CORS headers for an origin that no key lists', async (t) => {
    const origins = [
      'https://evil.example',
      'https://app.example.com.evil.example',
      'https://app.example.com:8443',
      'http://app.example.com',
      'https://app.example.com/',
      'https://APP.example.com',
      'null',
      '*',
      '{https://app.example.com}',
      '"',
      `https://${'x'.repeat(5000)}.example`,
      client.origin,
    ];
    for (const origin of origins) {
      const answer = await preflight({ origin, headers: 'authorization' });
      t.equal(answer.status, 204, origin);
      t.same(corsHeaders(answer), {}, origin);
      t.ok(variesByOrigin(answer), origin);
    }
  });

  await t.test(
    'OPTIONS: allows up to 50 of the requested header names, and drops names that are not tokens',
    async (t) => {
      const allowed = async (headers: string) =>
        (await preflight({ headers })).headers.get('access-control-allow-headers');
      const openai = 'authorization,content-type,x-stainless-arch,x-stainless-lang,x-stainless-retry-count';
      t.equal(await allowed(openai), openai.replaceAll(',', ', '));
      t.equal(await allowed('a b, (c), ok, d;e, "f", , _g'), 'ok, _g');
      const many = Array.from({ length: 60 }, (_, n) => `x-${n}`);
      t.equal(await allowed(many.join(',')), many.slice(0, 50).join(', '));
    },
  );

  await t.test(
    'OPTIONS: 405 if the request is not a preflight or the path does not accept keys',
    async (t) => {
      const plain = await fetch(`${client.origin}${API}/chat`, {
        method: 'OPTIONS',
        headers: { origin: LISTED },
      });
      t.equal(plain.status, 405);
      t.equal(plain.headers.get('allow'), 'OPTIONS, POST');
      t.same(corsHeaders(plain), {});
      for (const path of otherPaths) {
        const answer = await preflight({ path });
        t.equal(answer.status, 405, path);
        t.same(corsHeaders(answer), {}, path);
      }
      const missing = await preflight({ path: '/nothing' });
      t.equal(missing.status, 404);
      t.same(corsHeaders(missing), {});
    },
  );

  await t.test(
    'paths that do not accept keys never send CORS headers, whatever the credential',
    async (t) => {
      for (const path of [...otherPaths, '/nothing']) {
        for (const credentials of [{}, { key }, { cookie: owner.cookie }, { key, cookie: owner.cookie }]) {
          const answer = await client.get(path, { ...credentials, headers: { origin: LISTED } });
          t.same(corsHeaders(answer), {}, `${path} ${Object.keys(credentials)}`);
        }
      }
      for (const { path, url } of paths.filter(({ path }) => otherPaths.includes(path))) {
        for (const method of known.methodsOf.get(url) ?? []) {
          const headers = { origin: LISTED, authorization: `Bearer ${key}` };
          t.same(
            corsHeaders(await fetch(`${client.origin}${API}${path}`, { method, headers })),
            {},
            `${method} ${path}`,
          );
        }
      }
      for (const path of ['//', '//docs', '//openapi.json', '//healthz', '//assets/page.css'])
        t.same(corsHeaders(await client.get(path, { headers: { origin: LISTED } })), {}, path);
    },
  );

  await t.test('pages can read Retry-After and X-Should-Retry on responses to a key', async (t) => {
    const { headers } = await client.get('/usage', { key, headers: { origin: LISTED } });
    const exposed = headers.get('access-control-expose-headers')?.split(', ') ?? [];
    for (const name of ['retry-after', 'x-should-retry']) t.ok(exposed.includes(name), name);
  });

  await t.test('an origin is no longer allowed once no active key lists it', async (t) => {
    const origin = 'https://short-lived.example';
    const isAllowed = async () => (await preflight({ origin })).headers.has('access-control-allow-origin');
    const make = () => client.createKey(owner, { allowed_origins: [origin] });
    t.equal(await isAllowed(), false);

    const revoked = await make();
    const changed = await make();
    t.equal(await isAllowed(), true);
    await client.delete(`/keys/${revoked.id}`, { cookie: owner.cookie });
    t.equal(await isAllowed(), true, 'the other key still lists it');
    await client.patch(`/keys/${changed.id}`, { allowed_origins: [] }, { cookie: owner.cookie });
    t.equal(await isAllowed(), false, 'removed from the list');

    const expiring = await make();
    t.equal(await isAllowed(), true);
    await rowsOf(database.db, sql`update api_keys set expires_at = now() where id = ${expiring.id}::uuid`);
    t.equal(await isAllowed(), false, 'expired');

    const other = await client.signUp();
    await client.createKey(other, { allowed_origins: [origin] });
    t.equal(await isAllowed(), true, 'listed by a key of another account');
    await client.request('DELETE', '/account', {
      body: { current_password: other.password },
      cookie: other.cookie,
    });
    t.equal(await isAllowed(), false, 'the account is deleted');
  });
});

t.test('preflights do not count toward the rate limit', async (t) => {
  const { client } = await startTestService(t, 'postgres', plansFile(t, {}, 2));
  const { key } = await client.createKey(await client.signUp(), { allowed_origins: [LISTED] });
  const preflight = preflighter(client.origin);
  const answers = await Promise.all(Array.from({ length: 100 }, () => preflight()));
  t.ok(answers.every(({ headers, status }) => status === 204 && headers.has('access-control-allow-origin')));
  t.equal((await client.get('/usage', { key })).headers.get('ratelimit-remaining'), '1');
});

t.test('a flood of preflights uses only one database connection', async (t) => {
  const { client, env } = await startTestService(t, 'postgres');
  const owner = await client.signUp();
  await client.createKey(owner, { allowed_origins: [LISTED] });
  const preflight = preflighter(client.origin);
  const admin = postgres(env.DATABASE_URL ?? '', { max: 2, onnotice: () => {} });
  t.teardown(() => admin.end());
  const waiting = async () => {
    const [row] = await admin`
      select count(*)::int as count from pg_stat_activity
      where datname = current_database() and wait_event_type = 'Lock'`;
    return row?.count;
  };

  let answers: Promise<{ status: number; headers: Headers }[]> | undefined;
  await admin.begin(async (locked) => {
    await locked`lock table api_keys in access exclusive mode`;
    answers = Promise.all(
      Array.from({ length: 200 }, (_, n) =>
        preflight({ origin: n === 7 ? LISTED : `https://a${n}.example` }),
      ),
    );
    await eventually('a statement is waiting', async () => (await waiting()) > 0);
    t.equal(
      (await client.get('/account', { cookie: owner.cookie })).status,
      200,
      'other requests are served in the meantime',
    );
    t.equal(await waiting(), 1);
  });
  const allowed = (await answers)?.map(({ headers }) => headers.has('access-control-allow-origin'));
  t.same(
    allowed,
    Array.from({ length: 200 }, (_, n) => n === 7),
  );
});
