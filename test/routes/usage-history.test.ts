import { sql } from 'drizzle-orm';
import t from 'tap';
import { shiftClock } from '../support/clock.ts';
import type { Body } from '../support/http.ts';
import { onEachDatabase } from '../support/service.ts';

const isoDay = (offset: number) => new Date(Date.now() + offset * 86_400_000).toISOString().slice(0, 10);

onEachDatabase(t, {}, async (t, { client, database }) => {
  const owner = await client.signUp();
  const [one, other] = [await client.createKey(owner, { name: 'One' }), await client.createKey(owner)];
  const { cookie } = owner;
  const chat = (who: { key?: string; cookie?: string }) =>
    client.post('/chat', { message: 'Hello', store: false }, who);
  const history = async (query = '', who = { cookie }): Promise<Body> =>
    (await client.get(`/usage/history${query}`, who)).body;
  const rowOf = ({ data }: Body, day: string, meter: string) =>
    data.find((row: Body) => row.day === day && row.meter === meter);

  await t.test(
    'the history has a row per day and meter, even without usage, oldest first, for 30 days by default',
    async (t) => {
      const { data, keys } = await history();
      t.equal(data.length, 30 * 5);
      t.same(
        [...new Set(data.map(({ day }: Body) => day))],
        Array.from({ length: 30 }, (_, n) => isoDay(n - 29)),
      );
      t.same(
        data.slice(0, 5).map(({ meter }: Body) => meter),
        ['chat', 'images', 'search', 'embeddings', 'tokens'],
      );
      t.ok(data.every((row: Body) => row.used === 0 && row.by_key.length === 0));
      t.same(
        keys.map(({ active, id, key_prefix, name }: Body) => ({ active, id, key_prefix, name })),
        [
          { active: true, id: other.id, key_prefix: other.key_prefix, name: 'Test key' },
          { active: true, id: one.id, key_prefix: one.key_prefix, name: 'One' },
        ],
      );
    },
  );

  await t.test('usage is listed by key and the web, and adds up to GET /usage', async (t) => {
    for (const who of [one, one, one, other, { cookie }, { cookie }]) t.equal((await chat(who)).status, 200);
    t.equal((await client.post('/search', { query: 'key' }, { key: other.key })).status, 200);
    const found = await history('?days=1');
    t.same(rowOf(found, isoDay(0), 'chat'), {
      day: isoDay(0),
      meter: 'chat',
      used: 6,
      by_key: [
        { key_id: one.id, used: 3, requests: 3 },
        { key_id: null, used: 2, requests: 2 },
        { key_id: other.id, used: 1, requests: 1 },
      ],
    });
    t.same(rowOf(found, isoDay(0), 'search').by_key, [{ key_id: other.id, used: 1, requests: 1 }]);
    t.ok(rowOf(found, isoDay(0), 'tokens').by_key.every((share: Body) => !('requests' in share)));
    const { used } = (await client.get('/usage', { cookie })).body;
    for (const row of found.data) {
      t.equal(row.used, used[row.meter], row.meter);
      t.equal(
        row.by_key.reduce((sum: number, share: Body) => sum + share.used, 0),
        row.used,
        row.meter,
      );
    }
  });

  await t.test(
    'each request is counted once, whatever its charge, and rejected requests are not counted',
    async (t) => {
      const busy = await client.signUp();
      const { id, key } = await client.createKey(busy, { scopes: ['chat', 'search'] });
      const requestsOf = async (meter: string) =>
        rowOf(await history('?days=1', busy), isoDay(0), meter).by_key;
      const complete = (body: object, headers = {}) =>
        client.post(
          '/chat/completions',
          { messages: [{ role: 'user', content: 'Hello' }], ...body },
          { key, headers },
        );
      t.equal((await complete({ n: 3 })).status, 200);
      t.equal((await complete({ stream: true })).status, 200);
      for (const _ of [1, 2]) t.equal((await complete({}, { 'idempotency-key': 'once' })).status, 200);
      t.equal((await client.post('/embeddings', { input: ['a', 'b', 'c'] }, { key })).status, 200);
      t.equal((await client.post('/images/generations', { prompt: 'x' }, { key })).status, 403);
      t.same(await requestsOf('chat'), [{ key_id: id, used: 5, requests: 3 }]);
      t.same(await requestsOf('embeddings'), [{ key_id: id, used: 3, requests: 1 }]);
      t.same(await requestsOf('images'), []);

      const { id: account } = (await client.get('/account', busy)).body;
      await database.db.execute(
        sql`update key_usage set requests = null where account_id = ${account} and meter = 'chat'`,
      );
      t.equal((await complete({})).status, 200);
      t.same(
        await requestsOf('chat'),
        [{ key_id: id, used: 6 }],
        'unknown on a day that was only partly counted',
      );
    },
  );

  await t.test('a revoked key keeps its name and usage', async (t) => {
    await client.delete(`/keys/${one.id}`, { cookie });
    const { data, keys } = await history('?days=2');
    t.match(keys, [
      { id: other.id, active: true },
      { id: one.id, name: 'One', active: false },
    ]);
    t.equal(data.length, 10);
    t.equal(data.find(({ meter, used }: Body) => meter === 'chat' && used > 0).by_key[0].key_id, one.id);
  });

  await t.test('another account sees none of the usage', async (t) => {
    const { data, keys } = await history('', await client.signUp());
    t.ok(data.every((row: Body) => row.used === 0 && row.by_key.length === 0));
    t.same(keys, []);
  });

  await t.test("days follow the database clock, and a new day keeps yesterday's usage", async (t) => {
    await shiftClock(database.db, '1 day');
    t.equal((await chat({ cookie })).status, 200);
    const found = await history('?days=2');
    t.equal(found.data.length, 10);
    t.equal(rowOf(found, isoDay(0), 'chat').used, 6);
    t.same(rowOf(found, isoDay(1), 'chat'), {
      day: isoDay(1),
      meter: 'chat',
      used: 1,
      by_key: [{ key_id: null, used: 1, requests: 1 }],
    });
    t.equal((await history('?days=1')).data.length, 5);
    await shiftClock(database.db, '0 day');
    t.equal(rowOf(await history('?days=90'), isoDay(1), 'chat'), undefined, 'no future day');
  });

  await t.test('400 invalidRequest: days outside 1 to 90, or unknown parameters', async (t) => {
    for (const query of ['?days=0', '?days=91', '?days=x', '?days=1.5', '?day=3'])
      t.match(await client.get(`/usage/history${query}`, { cookie }), { status: 400 }, query);
  });
});
