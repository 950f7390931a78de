import t from 'tap';
import { databaseKinds, plansFile, startTestService } from '../support/service.ts';

for (const kind of databaseKinds) {
  t.test(kind, async (t) => {
    const { client } = await startTestService(t, kind, plansFile(t, { chat: 50, search: 2 }));
    const owner = await client.signUp();
    const { cookie } = owner;
    const [one, other] = [await client.createKey(owner), await client.createKey(owner)];

    await t.test(
      '429 quotaExceeded: of 200 concurrent requests over two keys and the web, exactly 50 succeed',
      async (t) => {
        const callers = [{ key: one.key }, { key: other.key }, { cookie }];
        const answers = await Promise.all(
          Array.from({ length: 200 }, (_, n) =>
            client.post('/chat', { message: 'Hello', store: false }, callers[n % 3]),
          ),
        );
        t.equal(answers.filter(({ status }) => status === 200).length, 50);
        const refused = answers.filter(({ status }) => status !== 200);
        t.ok(refused.every(({ body, status }) => status === 429 && body.error.code === 'quotaExceeded'));
        t.match((await client.get('/usage', { cookie })).body, { used: { chat: 50 }, limits: { chat: 50 } });
        const remaining = answers.map(({ headers }) => Number(headers.get('ratelimit-remaining')));
        t.ok(remaining.every((value) => value >= 0 && value < 50));
      },
    );

    await t.test('429 quotaExceeded: the response names the limit and the time when it resets', async (t) => {
      const { body, headers, status } = await client.post('/chat', { message: 'Hello' }, { key: one.key });
      t.equal(status, 429);
      const resetsAt = new Date(body.error.limit.resetsAt);
      t.match(body.error, {
        code: 'quotaExceeded',
        type: 'insufficient_quota',
        limit: { name: 'chat', ceiling: 50 },
      });
      t.equal(resetsAt.toISOString().slice(11), '00:00:00.000Z');
      const seconds = (resetsAt.getTime() - Date.now()) / 1000;
      t.ok(Math.abs(Number(headers.get('retry-after')) - seconds) < 3);
      t.ok(Number(headers.get('retry-after')) >= Number(headers.get('ratelimit-reset')));
      t.equal(headers.get('ratelimit-remaining'), '0');
      t.equal(headers.get('x-should-retry'), 'false');
    });

    await t.test('concurrent usage requests from several accounts each return the right usage', async (t) => {
      const strangers = await Promise.all(
        Array.from({ length: 5 }, (_, n) => client.signUp(`reader-${n}@example.com`)),
      );
      for (const [n, { cookie }] of strangers.entries())
        for (let call = 0; call < n; call += 1)
          await client.post('/chat', { message: 'Hello', store: false }, { cookie });
      const readings = await Promise.all(
        [...strangers, ...strangers].map(({ cookie }) => client.get('/usage', { cookie })),
      );
      t.same(
        readings.map(({ body }) => body.used.chat),
        [0, 1, 2, 3, 4, 0, 1, 2, 3, 4],
      );
    });

    await t.test('quotas are separate: search still works after the chat quota is used up', async (t) => {
      t.equal((await client.post('/search', { query: 'create a key' }, { key: one.key })).status, 200);
    });

    await t.test('a completion with n choices is charged for all of them or rejected', async (t) => {
      const stranger = await client.signUp();
      for (let n = 0; n < 47; n += 1)
        await client.post('/chat', { message: 'Hello', store: false }, { cookie: stranger.cookie });
      const messages = [{ role: 'user', content: 'Hello' }];
      const complete = (choices: number) =>
        client.post('/chat/completions', { messages, n: choices }, { cookie: stranger.cookie });
      t.match(await complete(4), {
        status: 429,
        body: { error: { message: /costs 4 units, but only 3 of today's chat quota of \d+ are left/ } },
      });
      t.equal((await client.get('/usage', { cookie: stranger.cookie })).body.used.chat, 47);
      t.equal((await complete(3)).status, 200);
      t.equal((await complete(1)).status, 429);
    });

    await t.test('a plan change takes effect immediately and keeps the usage', async (t) => {
      const change = (plan: string) =>
        client.put('/subscription', { plan, billing_period: 'yearly' }, { cookie });
      t.match(await change('large'), {
        status: 200,
        body: { plan: 'large', billing_period: 'yearly', price_cents: 996 },
      });
      t.equal((await client.post('/chat', { message: 'Hello' }, { key: one.key })).status, 200);
      t.match((await client.get('/usage', { cookie })).body, {
        plan: 'large',
        used: { chat: 51 },
        limits: { chat: null },
      });
      t.equal((await change('small')).status, 200);
      t.equal((await client.post('/chat', { message: 'Hello' }, { key: one.key })).status, 429);
      t.equal((await client.get('/usage', { cookie })).body.used.chat, 51);
      t.match(await change('nope'), { status: 400, body: { error: { param: 'plan' } } });
    });
  });
}
