import { fastifyCookie } from '@fastify/cookie';
import { sql } from 'drizzle-orm';
import t from 'tap';
import { rowsOf } from '../../src/database/client.ts';
import { parseDevice } from '../../src/domain/device-cookie.ts';
import { cookieOf, manyAttempts, startReplica } from '../support/dashboard.ts';
import { cookiesOf } from '../support/http.ts';
import { startPostgres } from '../support/postgres.ts';
import { startTestService } from '../support/service.ts';

const service = await startTestService(t, 'postgres', manyAttempts);
const { app, client, database } = service;
const { email, password } = await client.signUp();

const attributesOf = (answer: { headers: Headers }) =>
  (answer.headers.getSetCookie()[0] ?? '').split('; ').slice(1);

t.test(
  'the session cookie is HttpOnly, SameSite=Strict, valid for all paths, host-only, and lasts 30 days',
  async (t) => {
    const answer = await client.post('/auth/login', { email, password });
    t.match(cookieOf(answer), /^parley_session=./);
    const [expires] = attributesOf(answer).filter((one) => one.startsWith('Expires='));
    const days = (new Date(expires?.slice('Expires='.length) ?? '').getTime() - Date.now()) / 86_400_000;
    t.ok(days > 29.9 && days < 30.1, `${days} days`);
    t.strictSame(
      attributesOf(answer)
        .filter((one) => one !== expires)
        .sort(),
      ['HttpOnly', 'Path=/', 'SameSite=Strict'],
    );
  },
);

t.test(
  'with an https PUBLIC_URL, the cookie is __Host- and Secure, even behind an untrusted proxy that uses http',
  async (t) => {
    const { client } = await startReplica(t, service, {
      PUBLIC_URL: 'https://chat.example.com',
      TRUST_PROXY: 'off',
    });
    const answer = await client.post('/auth/login', { email, password });
    const cookie = cookieOf(answer);
    t.match(cookie, /^__Host-parley_session=./);
    const lasting = (attributes: string[]) =>
      attributes.filter((one) => !/^(Expires|Max-Age)=/.test(one)).sort();
    t.strictSame(lasting(attributesOf(answer)), ['HttpOnly', 'Path=/', 'SameSite=Strict', 'Secure']);
    t.equal((await client.get('/account', { cookie })).status, 200);
    t.equal((await client.get('/usage', { cookie })).status, 200);
    t.equal(
      (await client.get('/account', { cookie: cookie.replace('__Host-', '') })).status,
      401,
      'without the prefix, the cookie is not accepted',
    );

    const cleared = await client.request('POST', '/auth/logout', { cookie });
    t.match(cookieOf(cleared), /^__Host-parley_session=$/);
    t.strictSame(
      lasting(attributesOf(cleared)),
      lasting(attributesOf(answer)),
      'browsers clear a cookie only if its attributes match',
    );
  },
);

t.test(
  'the device cookie is HttpOnly, SameSite=Strict, host-only, and lasts 400 days; on https, __Host- and Secure',
  async (t) => {
    const attributesOfDevice = (answer: { headers: Headers }, name: string) => {
      const cookie = answer.headers.getSetCookie().find((one) => one.startsWith(`${name}=`)) ?? '';
      return cookie.split('; ').slice(1).sort();
    };
    const answer = await client.post('/auth/login', { email, password });
    t.match(answer.headers.getSetCookie()[0], /^parley_session=/, 'the session cookie is first');
    const attributes = ['HttpOnly', `Max-Age=${400 * 86_400}`, 'Path=/', 'SameSite=Strict'];
    t.strictSame(attributesOfDevice(answer, 'parley_device'), attributes);
    const overHttps = await startReplica(t, service, { PUBLIC_URL: 'https://chat.example.com' });
    const secure = await overHttps.client.post('/auth/login', { email, password });
    t.strictSame(attributesOfDevice(secure, '__Host-parley_device'), [...attributes, 'Secure']);
    const failed = await client.post('/auth/login', { email, password: 'wrong password' });
    t.strictSame(failed.headers.getSetCookie(), [], 'a failed sign-in sets no cookie');
  },
);

t.test('SESSION_SECRET as a list: the first signs and all verify session and device cookies', async (t) => {
  const [old, fresh] = [
    'the old secret, 32 characters long,'.replaceAll(',', '.'),
    'the new secret. 32 characters long.',
  ];
  const before = await startReplica(t, service, { SESSION_SECRET: old });
  const both = await startReplica(t, service, { SESSION_SECRET: `${fresh},${old}` });
  const after = await startReplica(t, service, { SESSION_SECRET: fresh });
  const answer = await before.client.post('/auth/login', { email, password });
  const cookie = cookiesOf(answer, 'parley_session');
  for (const path of ['/account', '/usage']) {
    t.equal((await both.client.get(path, { cookie })).status, 200, path);
    t.equal((await after.client.get(path, { cookie })).status, 401, path);
  }
  const renewed = await both.client.post('/auth/login', { email, password }, { cookie: cookiesOf(answer) });
  t.equal((await after.client.get('/account', { cookie: cookiesOf(renewed, 'parley_session') })).status, 200);
  const device = parseDevice(cookiesOf(renewed, 'parley_device').split('=')[1]);
  t.equal(
    device?.nonce,
    parseDevice(cookiesOf(answer, 'parley_device').split('=')[1])?.nonce,
    'the device is recognized',
  );
  t.equal(device?.marks.length, 1, 'its mark is renewed');
});

t.test(
  'a forged, unknown, empty, or malformed cookie counts as no cookie on session and caller endpoints',
  async (t) => {
    const { cookie, email } = await client.signUp();
    const [id = '', signature = ''] = cookie.slice('parley_session='.length).split('.');
    const forged = fastifyCookie.sign(id, 'another secret, 32 characters or more');
    const values = [
      '',
      '.',
      'x',
      id,
      `${id}.`,
      `.${signature}`,
      `${id}x.${signature}`,
      `${id}.${signature}x`,
      forged,
      '%',
      '%00',
      '__proto__',
      'x'.repeat(4000),
    ];
    const unknown = fastifyCookie.sign('a-session-that-never-was', app.sessionSecrets[0]);
    for (const value of [...values, unknown]) {
      const bad = `parley_session=${value}`;
      const onSession = await client.get('/account', { cookie: bad });
      t.match(onSession, { status: 401, body: { error: { code: 'sessionRequired' } } }, bad);
      t.strictSame(onSession.headers.getSetCookie(), [], 'no cookie is set or cleared');
      t.match(
        await client.get('/usage', { cookie: bad }),
        { status: 401, body: { error: { code: 'missingCredentials' } } },
        bad,
      );
      t.equal(
        cookieOf(await client.post('/auth/login', { email, password }, { cookie: bad })).length,
        cookie.length,
        'sign-in still works',
      );
    }
    t.equal((await client.get('/account', { cookie: '=; ;;parley_session' })).status, 401);
  },
);

t.test('only a digest of the session id is stored', async (t) => {
  const { accountId, cookie } = await client.signUp();
  const [secret = ''] = cookie.slice('parley_session='.length).split('.');
  const rows = await rowsOf<{ row: string }>(
    database.db,
    sql`select sessions::text as row from sessions where account_id = ${accountId}`,
  );
  t.equal(rows.length, 1);
  t.notMatch(rows[0]?.row, secret);
  t.notMatch(rows[0]?.row, Buffer.from(secret).toString('hex'));
});

t.test(
  'a request with a Bearer token never reads the session store, even if it carries a session cookie',
  async (t) => {
    const { client, database } = await startTestService(t, 'postgres');
    const owner = await client.signUp();
    const { key } = await client.createKey(owner);
    await database.db.execute(sql`alter table sessions rename to sessions_out_of_reach`);
    t.equal((await client.get('/usage', { key, cookie: owner.cookie })).status, 200);
    t.equal(
      (await client.get('/usage', { cookie: owner.cookie })).status,
      500,
      'a request with a session cookie needs the session store',
    );
  },
);

t.test(
  '503 serviceUnavailable with Retry-After while the database is down: nobody is signed out',
  async (t) => {
    const postgres = await startPostgres();
    t.teardown(() => postgres.drop());
    const { client } = await startReplica(t, service, { DATABASE_URL: postgres.url() });
    const { cookie, email, password } = await client.signUp();
    await postgres.stop();
    const answers = [
      await client.get('/account', { cookie }),
      await client.get('/usage', { cookie }),
      await client.request('POST', '/auth/logout', { cookie }),
      await client.post('/auth/login', { email, password }),
      await client.post('/auth/signup', { email: 'other@example.com', password }),
    ];
    for (const answer of answers) {
      t.match(answer, { status: 503, body: { error: { code: 'serviceUnavailable' } } });
      t.match(answer.headers.get('retry-after'), /^\d+$/);
      t.strictSame(answer.headers.getSetCookie(), []);
    }
    await postgres.restart();
    t.equal((await client.get('/account', { cookie })).status, 200);
  },
);
