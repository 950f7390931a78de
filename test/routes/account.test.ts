import { sql } from 'drizzle-orm';
import t from 'tap';
import { rowsOf } from '../../src/database/client.ts';
import { cookieOf, manyAttempts, startReplica } from '../support/dashboard.ts';
import { startTestService } from '../support/service.ts';

const service = await startTestService(t, 'postgres', manyAttempts);
const { client, database } = service;
const { client: replica } = await startReplica(t, service);

const next = 'a better staple';
const wrongPassword = {
  status: 401,
  body: {
    error: { code: 'invalidLogin', message: 'The current password is incorrect.', param: 'current_password' },
  },
};

t.test('GET /account 200: returns the signed-in account without its password hash', async (t) => {
  const { accountId, cookie, email } = await client.signUp();
  const { body, status, text } = await client.get('/account', { cookie });
  t.equal(status, 200);
  t.strictSame(body, {
    id: accountId,
    email,
    plan: 'free',
    billing_period: 'monthly',
    created_at: body.created_at,
  });
  t.ok(Math.abs(Date.parse(body.created_at) - Date.now()) < 60_000);
  t.notMatch(text, 'argon2');
});

t.test("GET /account 200: shows the default plan if the account's plan is no longer offered", async (t) => {
  const { accountId, cookie } = await client.signUp();
  await database.db.execute(sql`update accounts set plan = 'discontinued' where id = ${accountId}`);
  t.match(await client.get('/account', { cookie }), { status: 200, body: { plan: 'free' } });
});

t.test('GET /account 401 sessionRequired, 403 bearerNotAccepted', async (t) => {
  const owner = await client.signUp();
  const { key } = await client.createKey(owner);
  t.match(await client.get('/account'), { status: 401, body: { error: { code: 'sessionRequired' } } });
  t.match(await client.get('/account', { key }), {
    status: 403,
    body: { error: { code: 'bearerNotAccepted' } },
  });
  t.match(await client.get('/account', { key, cookie: owner.cookie }), {
    status: 403,
    body: { error: { code: 'bearerNotAccepted' } },
  });
  for (const authorization of ['', 'Basic YTpi']) {
    const { status } = await client.get('/account', { headers: { authorization }, cookie: owner.cookie });
    t.equal(status, 200, `"${authorization}" is not a Bearer credential`);
  }
});

t.test(
  'PATCH /account 200: only the new email address can sign in, and the session stays valid',
  async (t) => {
    const { cookie, email, password } = await client.signUp();
    const body = { email: `New-${email}`, current_password: password };
    t.match(await client.patch('/account', body, { cookie }), {
      status: 200,
      body: { email: `New-${email}` },
    });
    t.match(await replica.get('/account', { cookie }), { status: 200, body: { email: `New-${email}` } });
    t.equal((await client.post('/auth/login', { email, password })).status, 401);
    t.equal((await client.post('/auth/login', { email: `new-${email}`, password })).status, 200);
  },
);

t.test(
  "PATCH /account 409 emailTaken: another account's address in any case, but not the account's own address",
  async (t) => {
    const [one, other] = [await client.signUp(), await client.signUp()];
    const change = (email: string) =>
      client.patch('/account', { email, current_password: one.password }, { cookie: one.cookie });
    t.match(await change(other.email.toUpperCase()), {
      status: 409,
      body: { error: { code: 'emailTaken', param: 'email' } },
    });
    t.equal((await change(one.email.toUpperCase())).status, 200);
  },
);

t.test(
  '73: PATCH /account 409 emailTaken: at most 5 attempts per hour for an account, across all its sessions',
  async (t) => {
    const [one, other, bystander] = [await client.signUp(), await client.signUp(), await client.signUp()];
    const again = cookieOf(await client.post('/auth/login', { email: one.email, password: one.password }));
    const change = (cookie: string, email: string, current_password = one.password) =>
      client.patch('/account', { email, current_password }, { cookie });
    t.match(
      await change(one.cookie, 'x@example.com', 'wrong password'),
      wrongPassword,
      'reveals nothing and does not count toward the limit',
    );
    const answers = await Promise.all(
      Array.from({ length: 8 }, (_, n) =>
        change(n % 2 ? one.cookie : again, n % 2 ? other.email : bystander.email),
      ),
    );
    t.strictSame(answers.map(({ status }) => status).sort(), [409, 409, 409, 409, 409, 429, 429, 429]);
    const refused = answers.find(({ status }) => status === 429);
    t.match(refused, {
      body: {
        error: {
          code: 'rateLimitExceeded',
          limit: { name: 'email_change', ceiling: 5 },
          message: /^The limit of 5 email address changes per hour has been reached/,
        },
      },
    });
    t.equal(
      (await change(other.cookie, `new-${other.email}`)).status,
      200,
      'another account has its own limit',
    );
  },
);

t.test(
  'PATCH and DELETE /account, POST /account/password 401 invalidLogin: a wrong password changes nothing',
  async (t) => {
    const { cookie, email, password } = await client.signUp();
    const current_password = 'not this one';
    t.match(
      await client.patch('/account', { email: 'elsewhere@example.com', current_password }, { cookie }),
      wrongPassword,
    );
    t.match(await client.delete('/account', { body: { current_password }, cookie }), wrongPassword);
    t.match(
      await client.post('/account/password', { current_password, new_password: next }, { cookie }),
      wrongPassword,
    );
    t.match(await client.get('/account', { cookie }), { status: 200, body: { email } });
    t.equal((await client.post('/auth/login', { email, password })).status, 200);
  },
);

t.test(
  'PATCH and DELETE /account, POST /account/password 400 invalidRequest: missing, short, and unknown fields',
  async (t) => {
    const { cookie, password } = await client.signUp();
    const current_password = password;
    const bad: [string, string, unknown][] = [
      ['PATCH', '/account', { email: 'new@example.com' }],
      ['PATCH', '/account', { email: 'new', current_password }],
      ['PATCH', '/account', { email: 'new@example.com', current_password, plan: 'pro' }],
      ['DELETE', '/account', undefined],
      ['DELETE', '/account', {}],
      ['POST', '/account/password', { current_password, new_password: 'short' }],
      ['POST', '/account/password', { new_password: next }],
    ];
    for (const [method, path, body] of bad)
      t.equal((await client.request(method, path, { body, cookie })).status, 400, `${method} ${path}`);
    t.equal((await client.get('/account', { cookie })).status, 200);
  },
);

t.test(
  'POST /account/password 204: ends all other sessions on every replica and rotates the current one',
  async (t) => {
    const { cookie, email, password } = await client.signUp();
    const elsewhere = cookieOf(await replica.post('/auth/login', { email, password }));
    const answer = await client.post(
      '/account/password',
      { current_password: password, new_password: next },
      { cookie },
    );
    t.equal(answer.status, 204);
    const fresh = cookieOf(answer);
    for (const one of [client, replica]) {
      t.equal((await one.get('/account', { cookie: fresh })).status, 200);
      t.equal((await one.get('/account', { cookie })).status, 401, 'the session ID from before the change');
      t.equal((await one.get('/account', { cookie: elsewhere })).status, 401, 'another session');
      t.equal(
        (await one.get('/usage', { cookie: elsewhere })).status,
        401,
        'also on endpoints that accept keys',
      );
    }
    t.equal((await client.post('/auth/login', { email, password })).status, 401);
    t.equal((await client.post('/auth/login', { email, password: next })).status, 200);
  },
);

t.test(
  'POST /account/password 400 invalidRequest: the current password, and passwords that sign-up rejects',
  async (t) => {
    const { cookie, email, password } = await client.signUp(
      'grace.hopper@navy.example',
      'na\u00efve caf\u00e9 horse',
    );
    const change = (new_password: string) =>
      client.post('/account/password', { current_password: password, new_password }, { cookie });
    const refused = (reason: string, message: RegExp) => ({
      status: 400,
      body: { error: { param: 'new_password', message, reason } },
    });
    const unchanged = refused(
      'password_unchanged',
      /^The new password must be different from the current one\./,
    );
    t.match(await change(password), unchanged);
    t.match(await change('nai\u0308ve cafe\u0301 horse'), unchanged);
    t.match(await change('password'), refused('password_common', /too common/));
    t.match(await change('grace.hopper1906'), refused('password_email', /email address/));
    t.equal((await client.post('/auth/login', { email, password })).status, 200);
  },
);

t.test('POST /account/password: of two concurrent changes, exactly one succeeds', async (t) => {
  const { cookie, email, password } = await client.signUp();
  const elsewhere = cookieOf(await replica.post('/auth/login', { email, password }));
  const candidates = ['the first candidate', 'the second candidate'];
  const answers = await Promise.all([
    client.post('/account/password', { current_password: password, new_password: candidates[0] }, { cookie }),
    replica.post(
      '/account/password',
      { current_password: password, new_password: candidates[1] },
      { cookie: elsewhere },
    ),
  ]);
  t.strictSame(answers.map(({ status }) => status).sort(), [204, 401]);
  const winner = answers.findIndex(({ status }) => status === 204);
  t.equal((await client.post('/auth/login', { email, password: candidates[winner] })).status, 200);
  t.equal((await client.post('/auth/login', { email, password: candidates[1 - winner] })).status, 401);
});

t.test(
  'DELETE /account 204: ends sessions and revokes keys on every replica, and frees the email address',
  async (t) => {
    const owner = await client.signUp();
    const { cookie, email, password } = owner;
    const { key } = await client.createKey(owner);
    const elsewhere = cookieOf(await replica.post('/auth/login', { email, password }));
    const bystander = await client.signUp();

    const answer = await client.delete('/account', { body: { current_password: password }, cookie });
    t.equal(answer.status, 204);
    t.match(answer.headers.getSetCookie(), [/^parley_session=; Max-Age=0; /]);
    for (const one of [client, replica]) {
      t.equal((await one.get('/account', { cookie })).status, 401);
      t.equal((await one.get('/account', { cookie: elsewhere })).status, 401);
      t.match(await one.get('/usage', { key }), { status: 401, body: { error: { code: 'apiKeyRevoked' } } });
      t.equal(
        (await one.get('/account', { cookie: bystander.cookie })).status,
        200,
        'other accounts are unaffected',
      );
    }
    t.match(await client.post('/auth/login', { email, password }), {
      status: 401,
      body: { error: { code: 'invalidLogin' } },
    });
    const again = await client.post('/auth/signup', { email, password });
    t.equal(again.status, 201);
    t.not(again.body.id, owner.accountId);
  },
);

t.test('a session row of a deleted account is not a valid session', async (t) => {
  const { accountId, cookie } = await client.signUp();
  await database.db.execute(sql`update accounts set deleted_at = now() where id = ${accountId}`);
  const rows = await rowsOf(database.db, sql`select 1 from sessions where account_id = ${accountId}`);
  t.equal(rows.length, 1);
  t.equal((await client.get('/account', { cookie })).status, 401);
  t.equal((await client.get('/usage', { cookie })).status, 401);
});
