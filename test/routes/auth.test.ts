import t from 'tap';
import { cookieOf, manyAttempts, startReplica } from '../support/dashboard.ts';
import { startTestService } from '../support/service.ts';

const password = 'correct horse battery';
const service = await startTestService(t, 'postgres', manyAttempts);
const { client } = service;
const { client: replica } = await startReplica(t, service);

t.test('POST /auth/signup 201: creates an account on the first plan and signs it in', async (t) => {
  const answer = await client.post('/auth/signup', { email: 'Ada@example.com', password });
  t.match(answer, {
    status: 201,
    body: { email: 'Ada@example.com', plan: 'free', billing_period: 'monthly' },
  });
  t.match(await client.get('/account', { cookie: cookieOf(answer) }), { status: 200, body: answer.body });
});

t.test(
  'POST /auth/signup 409 emailTaken: of concurrent sign-ups with one address in any case, one succeeds',
  async (t) => {
    const addresses = ['grace@example.com', 'Grace@example.com', 'GRACE@EXAMPLE.COM', 'grace@Example.com'];
    const answers = await Promise.all(
      addresses.map((email, index) =>
        [client, replica][index % 2]?.post('/auth/signup', { email, password }),
      ),
    );
    t.strictSame(answers.map((answer) => answer?.status).sort(), [201, 409, 409, 409]);
    for (const answer of answers)
      if (answer?.status === 409) t.match(answer.body.error, { code: 'emailTaken', param: 'email' });
  },
);

t.test('POST /auth/signup 403 signupsClosed: the message names the operator', async (t) => {
  const { client } = await startReplica(t, service, {
    SIGNUPS: 'closed',
    OPERATOR_CONTACT: 'ops@example.com',
  });
  const answer = await client.post('/auth/signup', { email: 'late@example.com', password });
  t.match(answer, { status: 403, body: { error: { code: 'signupsClosed', message: /ops@example\.com/ } } });
  t.equal((await client.post('/auth/signup', {})).status, 403, 'with any body');
  t.equal(
    (await client.post('/auth/login', { email: 'ada@example.com', password })).status,
    200,
    'existing accounts can still sign in',
  );
});

t.test(
  'POST /auth/signup 400 invalidRequest: password too short or too long, invalid address, missing or unknown fields',
  async (t) => {
    const email = 'nobody@example.com';
    for (const body of [
      { email, password: '7 chars' },
      { email, password: 'x'.repeat(257) },
      { email: 'nobody', password },
      { email },
      { email, password, plan: 'pro' },
      { email, password: 12345678 },
    ]) {
      t.match(await client.post('/auth/signup', body), {
        status: 400,
        body: { error: { code: 'invalidRequest' } },
      });
    }
    t.equal((await client.post('/auth/login', { email, password })).status, 401);
  },
);

t.test(
  'POST /auth/signup 400 invalidRequest: an easily guessed password, with a reason and advice',
  async (t) => {
    const refused = async (password: string, reason: string, message: RegExp) => {
      const email = 'ada.lovelace@initech.example';
      const answer = await client.post('/auth/signup', { email, password });
      t.match(
        answer,
        { status: 400, body: { error: { code: 'invalidRequest', param: 'password', message, reason } } },
        password,
      );
      t.match(answer.body.error.details, [{ path: '/password', message }]);
    };
    for (const common of [
      'password',
      'PassWord',
      'password1',
      'iloveyou',
      '1234567890',
      'trustno1',
      ' password ',
    ])
      await refused(common, 'password_common', /^This password is too common\. Choose a different one/);
    for (const blank of ['        ', '\t\n      ', '\u3000'.repeat(8), '\u200b'.repeat(8)])
      await refused(blank, 'password_blank', /^This password is blank\./);
    for (const one of ['00000000', 'zzzzzzzzzzzz'])
      await refused(one, 'password_repeated', /^This password repeats/);
    const own = [
      'ada.lovelace@initech.example',
      'adalovelace',
      'Ada.Lovelace1815',
      'lovelace!2026',
      'initech12101990',
      'lovelaceada1',
      'ADA-initech-x',
    ];
    for (const password of own)
      await refused(password, 'password_email', /^This password is based on the email address\./);
    for (const password of ['initech correct horse', 'lovelace 4711 staple', '83926504'])
      t.equal(
        (await client.post('/auth/signup', { email: `ok-${crypto.randomUUID()}@initech.example`, password }))
          .status,
        201,
        password,
      );
  },
);

t.test('POST /auth/login 200: accepts the email address in any case', async (t) => {
  const answer = await client.post('/auth/login', { email: 'aDA@EXAMPLE.com', password });
  t.match(answer, { status: 200, body: { email: 'Ada@example.com' } });
  t.equal((await client.get('/account', { cookie: cookieOf(answer) })).status, 200);
});

t.test(
  'POST /auth/login 401 invalidLogin: an unknown address and a wrong password get the same response',
  async (t) => {
    const answers = [
      await client.post('/auth/login', { email: 'unknown@example.com', password }),
      await client.post('/auth/login', { email: 'ada@example.com', password: 'wrong' }),
    ];
    for (const { body, headers } of answers) {
      t.equal(body.error.code, 'invalidLogin');
      t.strictSame(headers.getSetCookie(), []);
      body.error.request_id = '';
    }
    t.strictSame(answers[0]?.body, answers[1]?.body);
  },
);

t.test(
  'POST /auth/login 200: rotates the session ID, and ends the previous session on every replica',
  async (t) => {
    const { cookie: old, email } = await client.signUp();
    const answer = await client.post('/auth/login', { email, password }, { cookie: old });
    const fresh = cookieOf(answer);
    t.not(fresh, old);
    for (const one of [client, replica]) {
      t.equal((await one.get('/account', { cookie: old })).status, 401);
      t.equal((await one.get('/account', { cookie: fresh })).status, 200);
    }
  },
);

t.test('POST /auth/login 401: a failed sign-in ends no session', async (t) => {
  const { cookie, email } = await client.signUp();
  t.equal((await client.post('/auth/login', { email, password: 'wrong' }, { cookie })).status, 401);
  t.equal((await client.get('/account', { cookie })).status, 200);
});

t.test('POST /auth/logout 204: ends only the current session, on every replica', async (t) => {
  const { cookie, email } = await client.signUp();
  const elsewhere = cookieOf(await replica.post('/auth/login', { email, password }));
  const answer = await client.request('POST', '/auth/logout', { cookie });
  t.equal(answer.status, 204);
  t.match(answer.headers.getSetCookie(), [/^parley_session=; Max-Age=0; /]);
  for (const one of [client, replica]) {
    t.match(await one.get('/account', { cookie }), {
      status: 401,
      body: { error: { code: 'sessionRequired' } },
    });
    t.match(await one.get('/usage', { cookie }), {
      status: 401,
      body: { error: { code: 'missingCredentials' } },
    });
    t.equal((await one.get('/account', { cookie: elsewhere })).status, 200);
  }
});

t.test(
  'POST /auth/logout 401 sessionRequired, 403 bearerNotAccepted: with a key, even alongside a valid cookie',
  async (t) => {
    const owner = await client.signUp();
    const { key } = await client.createKey(owner);
    t.match(await client.request('POST', '/auth/logout'), {
      status: 401,
      body: { error: { code: 'sessionRequired' } },
    });
    for (const options of [{ key }, { key, cookie: owner.cookie }]) {
      t.match(await client.request('POST', '/auth/logout', options), {
        status: 403,
        body: { error: { code: 'bearerNotAccepted' } },
      });
    }
    t.equal((await client.get('/account', { cookie: owner.cookie })).status, 200);
  },
);
