// Reliability tests 66 and 67: failed sign-ins lock out attackers, but not the account's owner.
import { setTimeout as sleep } from 'node:timers/promises';
import t, { type Test } from 'tap';
import { runOperatorCommand } from '../../src/commands/operator.ts';
import { startReplica } from '../support/dashboard.ts';
import { type Answer, type Client, cookiesOf } from '../support/http.ts';
import { hasRedis, startRedis } from '../support/redis.ts';
import { onEachDatabase, startTestService, type TestService } from '../support/service.ts';

const password = 'correct horse battery';
const next = 'a better staple';
const email = () => `user-${crypto.randomUUID()}@example.com`;
const codeOf = ({ body, status }: Answer) => (status < 400 ? status : body.error.code);
const count = (answers: Answer[], code: string | number) =>
  answers.filter((answer) => codeOf(answer) === code).length;
const env = { TRUST_PROXY: 'loopback', AUTH_ATTEMPTS_PER_MINUTE: '10' };

/** Requests from one address, with the cookies of one browser. */
const browserAt = (client: Client, address: string, cookie = '') => ({
  signUp: (body: object) => client.post('/auth/signup', body, { headers: { 'x-forwarded-for': address } }),
  signIn: (body: object) =>
    client.post('/auth/login', body, { cookie, headers: { 'x-forwarded-for': address } }),
  changePassword: (body: object) =>
    client.post('/account/password', body, { cookie, headers: { 'x-forwarded-for': address } }),
});

let addresses = 0;
const newAddress = () => {
  addresses += 1;
  return `198.51.${Math.floor(addresses / 250)}.${(addresses % 250) + 1}`;
};

/** Tries this many wrong passwords for an email address, five from each IP address. */
async function guess(client: Client, who: string, times: number): Promise<Answer[]> {
  const answers: Answer[] = [];
  for (let n = 0; n < times; n += 5) {
    const { signIn } = browserAt(client, newAddress());
    const wrong = { email: who, password: 'wrong password' };
    answers.push(...(await Promise.all(Array.from({ length: 5 }, () => signIn(wrong)))));
  }
  return answers;
}

/** Tries wrong passwords until the email address is locked. If Redis is slow, a process counts locally for a while. */
async function guessUntilLocked(client: Client, who: string): Promise<Answer[]> {
  const answers: Answer[] = [];
  while (answers.length < 300 && count(answers, 'rateLimitExceeded') < 10)
    answers.push(...(await guess(client, who, 5)));
  return answers;
}

function isLocked(t: Test, answer: Answer, ceiling: number, seconds: number, what: string) {
  t.match(answer, { status: 429, body: { error: { code: 'rateLimitExceeded' } } }, what);
  t.match(answer.body.error.limit, { name: 'sign_in', ceiling }, what);
  t.match(answer.headers.get('ratelimit-policy'), `"sign_in";q=${ceiling};w=${seconds}`);
}

async function keepsTheOwnerIn(t: Test, service: TestService, clients: [Client, Client]) {
  const { app, database } = service;
  const [client, other] = clients;
  const owner = { email: email(), password };
  const device = cookiesOf(await browserAt(client, '192.0.2.1').signUp(owner));
  t.match(device, /parley_device=/);
  const deviceOnly = device.split('; ').find((one) => one.startsWith('parley_device=')) ?? '';

  const guesses = await guessUntilLocked(client, owner.email);
  t.ok(count(guesses, 'invalidLogin') >= 100, `${guesses.length} guesses`);
  isLocked(
    t,
    await browserAt(client, newAddress()).signIn(owner),
    100,
    3600,
    'the owner is locked out on an unknown device',
  );

  const atHome = browserAt(client, '192.0.2.1', deviceOnly);
  t.equal((await atHome.signIn(owner)).status, 200, 'the owner can sign in from a known device');
  const roaming = browserAt(client, newAddress(), deviceOnly);
  t.equal((await roaming.signIn(owner)).status, 200, 'the device counts, not its IP address');
  const changed = await browserAt(client, '192.0.2.1', device).changePassword({
    current_password: password,
    new_password: next,
  });
  t.equal(changed.status, 204, 'the owner can change the password within a session');
  const renewed = { ...owner, password: next };
  t.equal(
    (await browserAt(other, newAddress()).signIn(renewed)).status,
    200,
    'a password change lifts the lock',
  );

  await guessUntilLocked(client, owner.email);
  isLocked(t, await browserAt(client, newAddress()).signIn(renewed), 100, 3600, 'locked again');
  isLocked(
    t,
    await browserAt(client, newAddress(), deviceOnly).signIn(renewed),
    100,
    3600,
    'a device from before the password change is unknown',
  );
  const lines = await runOperatorCommand({ db: database.db, config: app.config }, 'reset-password', [
    owner.email,
  ]);
  const [fresh] = /[2-9a-z]{5}(?:-[2-9a-z]{5}){3}/.exec(lines.join('\n')) ?? [];
  for (const one of clients)
    t.equal(
      (await browserAt(one, newAddress()).signIn({ ...owner, password: fresh })).status,
      200,
      'a password reset lifts the lock',
    );
}

onEachDatabase(t, env, async (t, service) => {
  await t.test(
    '66: after 100 wrong passwords, a known device and a session still work, and a password reset lifts the lock',
    async (t) => keepsTheOwnerIn(t, service, [service.client, service.client]),
  );
});

t.test(
  '66: a password reset lifts the lock on every replica when windows are in Redis',
  { skip: !hasRedis() && 'redis-server is not installed.' },
  async (t) => {
    const redis = await startRedis(t);
    const service = await startTestService(t, 'postgres', { ...env, REDIS_URL: redis.url });
    const replica = await startReplica(t, service);
    await keepsTheOwnerIn(t, service, [service.client, replica.client]);
  },
);

t.test(
  '66: a known device has its own limit; a cookie of another account or a forged cookie is not a known device',
  async (t) => {
    const { client } = await startTestService(t, 'postgres', env);
    const owner = { email: email(), password };
    const device = cookiesOf(await browserAt(client, '192.0.2.1').signUp(owner), 'parley_device');
    const stranger = cookiesOf(
      await browserAt(client, '192.0.2.2').signUp({ email: email(), password }),
      'parley_device',
    );
    t.notMatch(device, owner.email.split('@')[0], 'the cookie contains no email address');
    const wrong = { email: owner.email, password: 'wrong password' };
    const guesses = await Promise.all(
      Array.from({ length: 12 }, () => browserAt(client, newAddress(), device).signIn(wrong)),
    );
    t.equal(count(guesses, 'invalidLogin'), 10, 'across all IP addresses');
    isLocked(
      t,
      await browserAt(client, newAddress(), device).signIn(owner),
      10,
      60,
      'the device has to wait a minute',
    );
    t.equal(
      (await browserAt(client, newAddress()).signIn(owner)).status,
      200,
      'other devices do not have to wait',
    );

    await guess(client, owner.email, 90);
    t.equal(
      count(await guess(client, owner.email, 10), 'invalidLogin'),
      10,
      'failures of a known device do not count toward the limit of unknown devices',
    );
    const forged = `${device.slice(0, -3)}abc`;
    for (const cookie of [stranger, forged, 'parley_device=x', `${stranger}.${device.split('.').at(-1)}`])
      isLocked(t, await browserAt(client, newAddress(), cookie).signIn(owner), 100, 3600, cookie);
  },
);

t.test('66: wrong current passwords count only for their session', async (t) => {
  const { client } = await startTestService(t, 'postgres', env);
  const owner = { email: email(), password };
  const first = cookiesOf(await browserAt(client, '192.0.2.1').signUp(owner));
  const second = cookiesOf(await browserAt(client, '192.0.2.1').signIn(owner));
  const wrong = { current_password: 'wrong password', new_password: next };
  const answers = await Promise.all(
    Array.from({ length: 12 }, () => browserAt(client, '192.0.2.1', first).changePassword(wrong)),
  );
  t.equal(count(answers, 'invalidLogin'), 10);
  const change = { current_password: password, new_password: next };
  t.match(await browserAt(client, '192.0.2.1', first).changePassword(change), { status: 429 });
  t.equal((await browserAt(client, '192.0.2.1').signIn(owner)).status, 200, 'sign-in from the same address');
  t.equal(
    (await browserAt(client, '192.0.2.1', second).changePassword(change)).status,
    204,
    'another session',
  );
});

t.test('67: failed sign-ins to many email addresses are limited per /64 network and hour', async (t) => {
  const { client } = await startTestService(t, 'postgres', { ...env, AUTH_ATTEMPTS_PER_MINUTE: '2' });
  const owner = { email: email(), password };
  const device = cookiesOf(await browserAt(client, '2001:db8:1:2::1').signUp(owner), 'parley_device');
  const answers: Answer[] = [];
  for (let n = 0; n < 40; n += 1)
    answers.push(await browserAt(client, `2001:db8:1:2::${n + 1}`).signIn({ email: email(), password }));
  t.equal(count(answers, 'invalidLogin'), 20);
  t.equal(count(answers, 'rateLimitExceeded'), 20);
  isLocked(
    t,
    await browserAt(client, '2001:db8:1:2:ffff::1').signIn(owner),
    20,
    3600,
    'ten times the limit per minute',
  );
  t.equal((await browserAt(client, '2001:db8:1:3::1').signIn(owner)).status, 200, 'another network');
  t.equal(
    (await browserAt(client, '2001:db8:1:2::1', device).signIn(owner)).status,
    200,
    'a known device in the same network',
  );
});

t.test(
  '67: while one address floods 80 connections with failed sign-ins, sign-ins from another address succeed',
  async (t) => {
    const { client } = await startTestService(t, 'postgres', { ...env, AUTH_ATTEMPTS_PER_MINUTE: '1000000' });
    const owners = Array.from({ length: 5 }, () => ({ email: email(), password }));
    for (const owner of owners) await browserAt(client, '192.0.2.1').signUp(owner);
    let isOver = false;
    const shed: Answer[] = [];
    const flood = Array.from({ length: 80 }, async (_, n) => {
      while (!isOver) {
        const answer = await browserAt(client, '192.0.2.66').signIn({
          email: `flood-${n}@example.com`,
          password,
        });
        if (answer.status === 503) shed.push(answer);
        // The client and the service share this process. Without a pause, the other sign-ins would get no CPU time.
        await sleep(100);
      }
    });
    const honest: Answer[] = [];
    for (let n = 0; n < 4; n += 1)
      honest.push(
        ...(await Promise.all(owners.map((owner) => browserAt(client, '192.0.2.7').signIn(owner)))),
      );
    isOver = true;
    await Promise.all(flood);
    t.equal(count(honest, 200), 20);
    t.ok(shed.length > 0, `${shed.length} requests of the flood were shed`);
  },
);
