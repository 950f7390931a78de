// Webhook settings and the delivery log. Contract section 17.
import { sql } from 'drizzle-orm';
import t from 'tap';
import { deleteOldMessages } from '../../src/store/webhook-messages.ts';
import type { Body } from '../support/http.ts';
import { onEachDatabase, startTestService } from '../support/service.ts';
import {
  anyTarget,
  deliveriesOf,
  newestDelivery,
  setWebhook,
  startReceiver,
} from '../support/webhook-receiver.ts';

onEachDatabase(t, anyTarget, async (t, { client, database }) => {
  const { db } = database;

  await t.test(
    'a webhook can be set, read, changed, and deleted, and its secret is shown only once',
    async (t) => {
      const { cookie } = await client.signUp();
      const url = 'https://hooks.example.com/parley';
      t.same((await client.get('/webhook', { cookie })).body, { data: null });
      const made = await setWebhook(client, cookie, url);
      t.match(made, {
        url,
        secret: /^whsec_[A-Za-z0-9+/]{43}=$/,
        disabled_at: null,
        old_secret_ends_at: null,
      });
      t.same((await client.get('/webhook', { cookie })).body, { data: { ...made, secret: null } });
      const moved = await setWebhook(client, cookie, `${url}/2`);
      t.same(moved, { ...made, url: `${url}/2`, secret: null });
      t.equal((await client.delete('/webhook', { cookie })).status, 204);
      t.same((await client.get('/webhook', { cookie })).body, { data: null });
      const again = await setWebhook(client, cookie, url);
      t.not(again.secret, made.secret);
    },
  );

  await t.test('the audit trail records each change with only the host of the URL', async (t) => {
    const { cookie } = await client.signUp();
    const url = 'https://hooks.example.com/parley?token=secret';
    for (const one of [url, url, `${url}2`]) await setWebhook(client, cookie, one);
    await client.request('POST', '/webhook/secret', { cookie });
    for (let n = 0; n < 2; n += 1) await client.delete('/webhook', { cookie });
    const { data } = (await client.get('/events', { cookie })).body;
    t.same(
      data.map(({ detail, type }: Body) => [type, detail]),
      [
        ['webhookDeleted', null],
        ['webhookSecretReplaced', null],
        ['webhookChanged', 'hooks.example.com'],
        ['webhookChanged', 'hooks.example.com'],
        ['accountCreated', null],
      ],
    );
  });

  await t.test('404 notFound: no webhook is set', async (t) => {
    const { cookie } = await client.signUp();
    for (const answer of [
      await client.delete('/webhook', { cookie }),
      await client.request('POST', '/webhook/secret', { cookie }),
      await client.request('POST', '/webhook/test', { cookie }),
    ])
      t.match(answer, { status: 404, body: { error: { code: 'notFound' } } });
    t.same(await deliveriesOf(client, cookie), []);
    t.equal((await client.get('/events', { cookie })).body.data.length, 1, 'no event');
  });

  await t.test('the delivery log is paginated, newest first', async (t) => {
    const { accountId, cookie } = await client.signUp();
    await setWebhook(client, cookie, 'https://hooks.example.com');
    await db.execute(sql`
      insert into webhook_messages (account_id, id, at, type, data, status, attempts)
      select ${accountId}::uuid, gen_random_uuid(), now() - n / 2 * interval '1 second', 'key.created', '{}', 'delivered', 1
      from generate_series(1, 25) n`);
    const rows: Body[] = [];
    for (let cursor: string | null = ''; cursor !== null; ) {
      const { body } = await client.get(`/webhook/deliveries?limit=10${cursor && `&cursor=${cursor}`}`, {
        cookie,
      });
      rows.push(...body.data);
      cursor = body.next_cursor;
    }
    t.equal(new Set(rows.map(({ id }) => id)).size, 25);
    t.same(
      rows.map(({ at }) => at),
      rows.map(({ at }) => at).sort((one, other) => (one < other ? 1 : -1)),
    );
  });

  await t.test('an account can have at most 1,000 pending messages', async (t) => {
    const owner = await client.signUp();
    const { accountId, cookie } = owner;
    await setWebhook(client, cookie, 'https://hooks.example.com');
    await db.execute(sql`
      insert into webhook_messages (account_id, id, at, type, data, status, attempts, due_at)
      select ${accountId}::uuid, gen_random_uuid(), now(), 'key.created', '{}', 'pending', 1, now() + interval '1 hour'
      from generate_series(1, 1000)`);
    await client.createKey(owner);
    t.match(await client.request('POST', '/webhook/test', { cookie }), {
      status: 404,
      body: { error: { message: /Too many messages are already waiting/ } },
    });
    const { length } = await client
      .get('/webhook/deliveries?limit=100', { cookie })
      .then(({ body }) => body.data.filter((one: Body) => one.attempts === 0));
    t.equal(length, 0);
  });

  await t.test('messages are kept for 30 days', async (t) => {
    const { accountId, cookie } = await client.signUp();
    await setWebhook(client, cookie, 'https://hooks.example.com');
    const insert = (age: string) =>
      db.execute(sql`
        insert into webhook_messages (account_id, id, at, type, data, status, attempts)
        values (${accountId}::uuid, gen_random_uuid(), now() - ${age}::interval, 'key.created', '{}', 'delivered', 1)`);
    await insert('29 days');
    await insert('31 days');
    await deleteOldMessages(db);
    t.equal((await deliveriesOf(client, cookie)).length, 1);
  });

  await t.test('an account can send at most 10 test messages per minute', async (t) => {
    const { cookie } = await client.signUp();
    await setWebhook(client, cookie, 'http://127.0.0.1:9');
    const statuses = await Promise.all(
      Array.from({ length: 11 }, async () => {
        const { status } = await client.request('POST', '/webhook/test', { cookie });
        return status;
      }),
    );
    t.same(statuses.sort(), [...Array(10).fill(202), 429]);
  });
});

t.test('without WEBHOOK_TARGETS, webhooks can only target https URLs with public addresses', async (t) => {
  const { client, database } = await startTestService(t, 'embedded');
  const { accountId, cookie } = await client.signUp();
  for (const url of [
    'http://hooks.example.com',
    'https://user:pass@hooks.example.com',
    'https://hooks.example.com/#here',
    'https://localhost/hook',
    'https://127.0.0.1/hook',
    'https://2130706433/hook',
    'https://[::1]/hook',
    'https://[::ffff:10.0.0.1]/hook',
    'https://[64:ff9b::a00:1]/hook',
    'https://10.1.2.3/',
    'https://169.254.169.254/latest/meta-data',
    'https://metadata.google.internal/',
    'https://printer.local/',
    'ftp://hooks.example.com',
    'hooks.example.com',
  ]) {
    const answer = await client.put('/webhook', { url }, { cookie });
    t.match(
      answer,
      { status: 400, body: { error: { code: 'invalidRequest', param: 'url', reason: /^url_/ } } },
      url,
    );
  }
  const receiver = await startReceiver(t);
  await setWebhook(client, cookie, 'https://hooks.example.com');
  // The URL as it would be if it had been set with WEBHOOK_TARGETS=any.
  await database.db.execute(
    sql`update webhooks set url = ${receiver.url} where account_id = ${accountId}::uuid`,
  );
  await client.request('POST', '/webhook/test', { cookie });
  const failed = await newestDelivery(client, cookie, ({ error }) => error !== null);
  t.match(failed, {
    status: 'pending',
    error: 'The URL must be an https URL, such as https://hooks.example.com/parley.',
  });
  t.same(receiver.received, []);
});
