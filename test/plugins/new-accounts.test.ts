import type { FastifyRequest } from 'fastify';
import t from 'tap';
import { limitFields } from '../support/rate-headers.ts';
import { startTestService } from '../support/service.ts';

const password = 'correct horse battery';
const email = () => `user-${crypto.randomUUID()}@example.com`;

t.test(
  'new accounts are limited per address and day; a sign-up that creates no account does not count',
  async (t) => {
    const env = { TRUST_PROXY: 'loopback', SIGNUPS_PER_ADDRESS_PER_DAY: '2' };
    const { client } = await startTestService(t, 'postgres', env);
    const signUp = (address: string, who = email()) =>
      client.post('/auth/signup', { email: who, password }, { headers: { 'x-forwarded-for': address } });
    const signUps = async (addresses: string[], who?: string) =>
      (await Promise.all(addresses.map((address) => signUp(address, who))))
        .map(({ status }) => status)
        .sort();

    const taken = email();
    t.equal((await signUp('192.0.2.1', taken)).status, 201);
    t.strictSame(
      await signUps(Array(3).fill('2001:db8:1:2::1'), taken),
      [409, 409, 429],
      'of three concurrent sign-ups, one exceeds the limit',
    );
    t.strictSame(
      await signUps(['2001:db8:1:2::1', '2001:db8:1:2::2', '2001:db8:1:2::3']),
      [201, 201, 429],
      'IPv6 addresses count per /64 network',
    );
    const refused = await signUp('2001:db8:1:2:ffff::1');
    t.match(refused, {
      status: 429,
      body: {
        error: {
          code: 'rateLimitExceeded',
          limit: { name: 'sign_up', ceiling: 2 },
          message: /^The limit of 2 new accounts per day has been reached/,
        },
      },
    });
    t.match(limitFields(refused), { policies: { sign_up: { q: 2, w: 86_400 } } });
    t.equal((await signUp('2001:db8:1:3::1')).status, 201, 'another network');
    t.strictSame(
      await signUps(Array(3).fill('127.0.0.1')),
      [201, 201, 429],
      'loopback is limited too when the variable is set',
    );
  },
);

t.test('by default, an address may create 20 accounts a day, and loopback is unlimited', async (t) => {
  const { app } = await startTestService(t, 'postgres');
  const made = async (ip: string) => {
    const make = () => app.limits.limitNewAccount({ ip } as FastifyRequest, async () => true);
    const all = await Promise.all(Array.from({ length: 30 }, () => make().catch(() => false)));
    return all.filter(Boolean).length;
  };
  t.equal(await made('192.0.2.1'), 20);
  for (const ip of ['127.0.0.1', '127.9.9.9', '::1', '::ffff:127.0.0.1']) t.equal(await made(ip), 30, ip);
});
