// Keys across several replicas and their caches: reliability test 6. Contract section 3. Revocation has its own file.
import t from 'tap';
import { runOperatorCommand } from '../../src/commands/operator.ts';
import { loadConfig } from '../../src/config.ts';
import { openDatabase } from '../../src/database/client.ts';
import { type Replica, startCluster } from '../support/replicas.ts';
import { createKeys, warm } from '../support/revocations.ts';
import { plansFile } from '../support/service.ts';
import { KEY_LOOK_UP, startLoggingPostgres } from '../support/statement-log.ts';
import { eventually } from '../support/upstream/engine.ts';

const log = await startLoggingPostgres();
t.teardown(() => log.server.drop());
const direct = log.server.url();
const plans = plansFile(t, {}, 1000);
const { replicas, client } = await startCluster(t, { count: 3, databaseUrl: direct, env: plans });
const there = (replicas[1] as Replica).client;

t.test('6: 60 concurrent creations across 3 replicas create exactly 5 keys', async (t) => {
  const { cookie } = await client.signUp();
  const answers = await Promise.all(
    Array.from({ length: 60 }, (_, n) =>
      (replicas[n % 3] as Replica).client.post('/keys', { name: `${n}`, scopes: ['chat'] }, { cookie }),
    ),
  );
  t.equal(answers.filter(({ status }) => status === 201).length, 5);
  const refused = answers.filter(({ status }) => status === 429);
  t.equal(refused.length, 55);
  t.ok(refused.every(({ body }) => body.error.code === 'apiKeyLimitReached'));
  t.equal((await client.get('/keys', { cookie })).body.data.length, 5);
});

t.test('cached keys need no database lookup, and the lookup statement is prepared', async (t) => {
  const keys = await createKeys(client, 5);
  const cold = log.mark();
  await warm(client, keys, log);
  t.ok(cold.count(KEY_LOOK_UP) >= 5);
  t.match(cold.text(), /execute \w+: \s*select s\.digest/, 'prepared on the server');
  const since = log.mark();
  for (let n = 0; n < 20; n += 1) await Promise.all(keys.map(({ key }) => client.get('/models', { key })));
  t.equal(since.count(KEY_LOOK_UP), 0);
  t.ok(since.count('api_keys k set last_used_at') < 10, 'last_used_at is not written for every request');
});

t.test('last_used_at is set soon after the first use, and is not written for every request', async (t) => {
  const owner = await client.signUp();
  const { id, key } = await client.createKey(owner);
  const lastUsed = async () =>
    (await client.get('/keys', { cookie: owner.cookie })).body.data[0].last_used_at;
  t.equal(await lastUsed(), null);
  const since = log.mark();
  const usedAt = Date.now();
  for (let n = 0; n < 50; n += 1) await client.get('/models', { key });
  await eventually('last_used_at is set', async () => (await lastUsed()) !== null, 10_000);
  t.ok(Math.abs(Date.parse(await lastUsed()) - usedAt) < 5000, 'the time of use, not the time of the write');
  t.ok(since.text().split(id).length - 1 < 10);
});

t.test(
  'a rotation, a plan change, and an account deletion take effect on other replicas within a second',
  async (t) => {
    const [one] = await createKeys(client, 1);
    const { cookie, id, key } = one as { cookie: string; id: string; key: string };
    const account = (await client.get('/account', { cookie })).body;
    const within = (what: string, holds: () => Promise<boolean>) => eventually(what, holds, 1000);
    const limit = async (of = key) =>
      Number((await there.get('/models', { key: of })).headers.get('ratelimit-limit'));

    await warm(there, [one as never], log);
    t.equal(await limit(), 1000);
    await client.put('/subscription', { plan: 'large', billing_period: 'monthly' }, { cookie });
    await within('the new plan applies', async () => (await limit()) === 1_000_000);

    const config = loadConfig({ ...plans, DATABASE_URL: direct });
    const database = await openDatabase({ url: direct, connections: 1 });
    await runOperatorCommand({ db: database.db, config }, 'set-plan', [account.email, 'small', 'monthly']);
    await within("the operator's plan applies", async () => (await limit()) === 1000);
    await database.close();

    const rotated = await client.post(`/keys/${id}/rotate`, {}, { cookie });
    await within(
      'the rotated key is refused',
      async () => (await there.get('/models', { key })).status === 401,
    );
    t.equal(await limit(rotated.body.key), 1000);

    const deletion = { current_password: 'correct horse battery' };
    t.equal((await client.request('DELETE', '/account', { body: deletion, cookie })).status, 204);
    await within(
      "the deleted account's key is refused",
      async () => (await there.get('/models', { key: rotated.body.key })).status === 401,
    );
  },
);
