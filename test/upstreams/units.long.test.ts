// A model that costs several units is charged all or nothing, and never beyond the limit, even across replicas.
import t from 'tap';
import { startCluster } from '../support/replicas.ts';
import { onEachDatabase, plansFile } from '../support/service.ts';
import { startUpstream } from '../support/upstream/client.ts';
import { upstreamsFile } from '../support/upstreams-file.ts';

const upstream = await startUpstream();
t.teardown(() => upstream.stop());

const targets = [{ upstream: 'a', model: 'test-model' }];
const { env } = upstreamsFile({
  upstreams: [{ name: 'a', kind: 'openai', url: upstream.url }],
  models: [
    { name: 'five', targets, units: 5 },
    { name: 'one', targets },
  ],
});

t.test('12 units are enough for two requests to a model of 5 units and two to a model of 1 unit', async (t) =>
  onEachDatabase(t, { ...env, ...plansFile(t, { chat: 12 }) }, async (t, { client }) => {
    const { key } = await client.createKey(await client.signUp());
    const ask = (model: string, stream = false) =>
      client.post('/chat', { message: 'Hi', model, stream }, { key });
    t.equal((await ask('five')).status, 200);
    const second = await ask('five', true);
    t.match([second.status, second.headers.get('ratelimit-remaining')], [200, '2']);
    for (const stream of [false, true]) {
      const refused = await ask('five', stream);
      t.match(refused, {
        status: 429,
        body: { error: { code: 'quotaExceeded', limit: { name: 'chat', ceiling: 12 } } },
      });
      t.equal(refused.headers.get('ratelimit-remaining'), '2', 'a rejected request is not charged');
    }
    for (let n = 0; n < 2; n += 1) t.equal((await ask('one')).status, 200);
    t.equal((await ask('one')).status, 429);
    t.match((await client.get('/usage', { key })).body, { used: { chat: 12 } });
  }),
);

t.test('600 concurrent requests across three replicas use exactly all units', async (t) => {
  const { client, replicas } = await startCluster(t, {
    count: 3,
    env: { ...env, ...plansFile(t, { chat: 1000 }) },
  });
  const owner = await client.signUp();
  const { key } = await client.createKey(owner);
  const statuses = await Promise.all(
    Array.from({ length: 600 }, async (_, n) => {
      const { origin } = replicas[n % replicas.length] ?? client;
      const response = await fetch(`${origin}/api/v1/chat`, {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          authorization: `Bearer ${key}`,
          // With an idempotency key, the ledger admits the request before the model runs.
          ...(n % 2 === 0 && { 'idempotency-key': crypto.randomUUID() }),
        },
        body: JSON.stringify({ message: 'Hi', model: 'five' }),
      });
      await response.text();
      return response.status;
    }),
  );
  const count = (status: number) => statuses.filter((one) => one === status).length;
  t.same([count(200), count(429)], [200, 400]);
  t.match((await client.get('/usage', { cookie: owner.cookie })).body, { used: { chat: 1000 } });
});
