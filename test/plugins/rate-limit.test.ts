import t, { type Test } from 'tap';
import { generateApiKey } from '../../src/domain/api-key.ts';
import type { Answer, Client, Owner } from '../support/http.ts';
import { limitFields } from '../support/rate-headers.ts';
import { onEachDatabase, plansFile, startTestService } from '../support/service.ts';

const password = 'correct horse battery';
const email = () => `user-${crypto.randomUUID()}@example.com`;
const codeOf = ({ body, status }: Answer) => (status < 400 ? status : body.error.code);
const count = (answers: Answer[], code: string | number) =>
  answers.filter((answer) => codeOf(answer) === code).length;
const times = <T>(n: number, run: (index: number) => Promise<T>) =>
  Promise.all(Array.from({ length: n }, (_, index) => run(index)));

/** Signs up from an address. The service must trust the proxy. */
async function signUpFrom(client: Client, address: string): Promise<Owner> {
  const address_ = { headers: { 'x-forwarded-for': address } };
  const account = { email: email(), password };
  const answer = await client.post('/auth/signup', account, address_);
  if (answer.status !== 201) throw new Error(answer.text);
  const cookie = (answer.headers.getSetCookie()[0] ?? '').split(';')[0] ?? '';
  return { ...account, cookie, accountId: answer.body.id };
}

/** The body and all headers of a 429 name the limit and when to retry. */
function isRefusal(t: Test, answer: Answer, ceiling: number, window = 60, name = 'requests'): void {
  t.match(answer, { status: 429, body: { error: { code: 'rateLimitExceeded', type: 'rate_limit_error' } } });
  t.match(answer.body.error.limit, { name, ceiling });
  const fields = limitFields(answer);
  t.match(fields, {
    three: { limit: ceiling, remaining: 0 },
    policies: { [name]: { q: ceiling, w: window } },
    limits: { [name]: { r: 0 } },
  });
  const retryAfter = Number(answer.headers.get('retry-after'));
  t.ok(retryAfter > 0 && retryAfter <= window, `Retry-After: ${retryAfter}`);
  t.ok(retryAfter >= (fields?.limits[name]?.t ?? Number.NaN), 'Retry-After is not earlier than the reset');
  const seconds = (Date.parse(answer.body.error.limit.resetsAt) - Date.now()) / 1000;
  t.ok(Math.abs(seconds - retryAfter) < 5, 'resetsAt matches Retry-After');
  t.equal(answer.headers.get('x-should-retry'), null);
}

const small = { ...plansFile(t, { chat: 100 }, 6), AUTH_ATTEMPTS_PER_MINUTE: '3', TRUST_PROXY: 'loopback' };

onEachDatabase(t, small, async (t, { client }) => {
  await t.test(
    "the plan's requests per minute: all keys and metered requests from the web share one window",
    async (t) => {
      const owner = await signUpFrom(client, '192.0.2.1');
      const { cookie } = owner;
      const [one, other] = [await client.createKey(owner), await client.createKey(owner)];
      const chat = { message: 'Hello', store: false };
      const answers = await times(30, (n) =>
        n % 3 === 0
          ? client.get('/models', { key: one.key })
          : client.post('/chat', chat, n % 3 === 1 ? { key: other.key } : { cookie }),
      );
      t.equal(count(answers, 200), 6, '6 of 30 concurrent requests are served');
      t.equal(count(answers, 'rateLimitExceeded'), 24);
      isRefusal(t, await client.get('/models', { key: one.key }), 6);
      isRefusal(t, await client.post('/chat', chat, { cookie }), 6);

      const usage = await client.get('/usage', { cookie });
      const charged = answers.filter(({ body, status }) => status === 200 && body.reply !== undefined).length;
      t.equal(usage.status, 200, 'unmetered requests from the web have a separate limit');
      t.equal(usage.body.used.chat, charged, 'refused requests are not charged');
      t.match(limitFields(usage), { three: { limit: 300 }, policies: { requests: { q: 300, w: 60 } } });

      const plan = { plan: 'large', billing_period: 'monthly' };
      t.equal((await client.put('/subscription', plan, { cookie })).status, 200);
      t.equal(
        (await client.get('/models', { key: one.key })).status,
        200,
        'a larger plan takes effect immediately',
      );
    },
  );

  await t.test('POST /messages/count_tokens counts toward the requests per minute', async (t) => {
    const owner = await signUpFrom(client, '192.0.2.12');
    const { key } = await client.createKey(owner);
    const body = { messages: [{ role: 'user', content: 'Hello' }] };
    const answers = await times(10, () => client.post('/messages/count_tokens', body, { key }));
    t.equal(count(answers, 200), 6);
    t.equal(count(answers, 'rateLimitExceeded'), 4);
    isRefusal(t, await client.get('/models', { key }), 6);
  });

  await t.test('the sessions of an account share a limit of 300 unmetered requests a minute', async (t) => {
    const owner = await signUpFrom(client, '192.0.2.2');
    const again = await client.post('/auth/login', { email: owner.email, password });
    const cookies = [owner.cookie, (again.headers.getSetCookie()[0] ?? '').split(';')[0] ?? ''];
    const answers: Answer[] = [];
    for (let n = 0; n < 10; n += 1)
      answers.push(
        ...(await times(31, (index) =>
          client.get(index % 2 ? '/keys' : '/conversations', { cookie: cookies[n % 2] ?? '' }),
        )),
      );
    t.equal(count(answers, 200), 300);
    isRefusal(t, await client.get('/account', { cookie: owner.cookie }), 300);
    const chat = await client.post('/chat', { message: 'Hello', store: false }, { cookie: owner.cookie });
    t.equal(chat.status, 200, 'metered requests have a separate limit');
  });

  await t.test('a cross-site request is refused and does not count toward the limit', async (t) => {
    const { cookie } = await signUpFrom(client, '192.0.2.3');
    const foreign = { cookie, headers: { 'sec-fetch-site': 'cross-site' } };
    const answers = await times(10, () => client.post('/chat', { message: 'Hello' }, foreign));
    t.equal(count(answers, 'crossSiteRequest'), 10);
    t.match(limitFields(answers[9] as Answer), { three: { limit: 6, remaining: 6 } });
  });

  await t.test(
    'a request with a revoked key does not count toward the limit; one with a missing scope does',
    async (t) => {
      const owner = await signUpFrom(client, '192.0.2.4');
      const [revoked, good] = [
        await client.createKey(owner),
        await client.createKey(owner, { scopes: ['models'] }),
      ];
      await client.delete(`/keys/${revoked.id}`, { cookie: owner.cookie });
      const answers = await times(10, () => client.get('/models', { key: revoked.key }));
      t.equal(count(answers, 'apiKeyRevoked'), 10);
      t.match(limitFields(answers[0] as Answer), { three: { limit: 6, remaining: 6 } });
      const unscoped = await client.get('/usage', { key: good.key });
      t.equal(codeOf(unscoped), 'insufficientScope');
      t.match(limitFields(unscoped), { three: { limit: 6, remaining: 5 } });
    },
  );

  await t.test(
    'an address may send 60 unknown keys a minute, and valid keys are never blocked',
    async (t) => {
      const owner = await signUpFrom(client, '192.0.2.5');
      const { key } = await client.createKey(owner);
      const from = (address: string) => ({ headers: { 'x-forwarded-for': address } });
      const unknown = (address: string) =>
        client.get('/models', { key: generateApiKey().rawKey, ...from(address) });
      const malformed = await times(70, () =>
        client.get('/models', { key: 'nonsense', ...from('2001:db8:1:2::1') }),
      );
      t.equal(count(malformed, 'invalidApiKey'), 70, 'malformed keys do not count');
      const answers = await times(70, (n) => unknown(`2001:db8:1:2::${n + 1}`));
      t.equal(count(answers, 'invalidApiKey'), 60);
      isRefusal(t, await unknown('2001:db8:1:2:ffff::1'), 60, 60, 'unknown_key');
      t.equal(codeOf(await unknown('2001:db8:1:3::1')), 'invalidApiKey', 'another network');
      t.equal((await client.get('/models', { key, ...from('2001:db8:1:2::1') })).status, 200);
      const [first] = answers.filter((answer) => codeOf(answer) === 'invalidApiKey');
      t.equal(limitFields(first as Answer), undefined, 'no rate limit headers without an account');
    },
  );

  await t.test('sign-ups per minute are limited by address', async (t) => {
    const signUp = (address: string) =>
      client.post('/auth/signup', { email: email(), password }, { headers: { 'x-forwarded-for': address } });
    const answers = await times(5, () => signUp('192.0.2.6'));
    t.equal(count(answers, 201), 3);
    isRefusal(t, await signUp('192.0.2.6'), 3, 60, 'sign_up');
    t.equal((await signUp('192.0.2.7')).status, 201);
  });

  await t.test('failed sign-ins per minute are limited by email address and IP address', async (t) => {
    const owner = await signUpFrom(client, '192.0.2.8');
    const logIn = (address: string, attempt: string, who = owner.email) =>
      client.post(
        '/auth/login',
        { email: who, password: attempt },
        { headers: { 'x-forwarded-for': address } },
      );
    for (let n = 0; n < 5; n += 1)
      t.equal((await logIn('192.0.2.9', password)).status, 200, 'successful sign-ins do not count');
    const failed = await times(6, (n) =>
      logIn('192.0.2.9', 'wrong password', n % 2 ? owner.email : owner.email.toUpperCase()),
    );
    t.equal(
      count(failed, 'invalidLogin'),
      3,
      'the limit holds for concurrent attempts, and ignores case in the email address',
    );
    isRefusal(t, await logIn('192.0.2.9', password), 3, 60, 'sign_in');
    t.equal(
      (await logIn('192.0.2.10', password)).status,
      200,
      'the owner can still sign in from another address',
    );
    const nobody = email();
    const unknown = await times(4, () => logIn('192.0.2.9', 'wrong password', nobody));
    t.equal(count(unknown, 'invalidLogin'), 3, 'an unknown email address gets the same responses');
    t.equal(count(unknown, 'rateLimitExceeded'), 1);
  });

  await t.test(
    'wrong current passwords are limited per session, across all operations that ask for one',
    async (t) => {
      const owner = await signUpFrom(client, '192.0.2.11');
      const options = { cookie: owner.cookie, headers: { 'x-forwarded-for': '192.0.2.11' } };
      const wrong = { current_password: 'wrong password' };
      const answers = [
        await client.patch('/account', { ...wrong, email: email() }, options),
        await client.post('/account/password', { ...wrong, new_password: 'another password' }, options),
        await client.request('DELETE', '/account', { body: wrong, ...options }),
      ];
      t.equal(count(answers, 'invalidLogin'), 3);
      const right = { current_password: password, email: email() };
      isRefusal(t, await client.patch('/account', right, options), 3, 60, 'current_password');
      const logIn = await client.post('/auth/login', { email: owner.email, password }, options);
      t.equal(logIn.status, 200, 'sign-in has separate limits');
    },
  );
});

t.test('an email address allows 100 failed sign-ins an hour, across all IP addresses', async (t) => {
  const { client } = await startTestService(t, 'postgres', { TRUST_PROXY: 'loopback' });
  const owner = await client.signUp();
  let address = 0;
  const logIn = (attempt: string) => {
    address += 1;
    const headers = { 'x-forwarded-for': `198.51.100.${address}` };
    return client.post('/auth/login', { email: owner.email, password: attempt }, { headers });
  };
  const answers: Answer[] = [];
  for (let n = 0; n < 21; n += 1) answers.push(...(await times(5, () => logIn('wrong password'))));
  t.equal(count(answers, 'invalidLogin'), 100);
  isRefusal(t, await logIn(password), 100, 3600, 'sign_in');
});

t.test('a forged X-Forwarded-For is ignored unless the proxy is trusted', async (t) => {
  const { client } = await startTestService(t, 'postgres', { AUTH_ATTEMPTS_PER_MINUTE: '2' });
  const answers = await times(4, (n) =>
    client.post(
      '/auth/signup',
      { email: email(), password },
      {
        headers: {
          'x-forwarded-for': `203.0.113.${n}`,
          forwarded: `for=203.0.113.${n}`,
          'x-real-ip': `203.0.113.${n}`,
        },
      },
    ),
  );
  t.equal(count(answers, 201), 2);
  t.equal(count(answers, 'rateLimitExceeded'), 2);
});
