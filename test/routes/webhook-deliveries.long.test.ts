// Webhook messages: their events, Standard Webhooks signatures, and retries. Contract section 17.
import { sql } from 'drizzle-orm';
import t from 'tap';
import { rowsOf } from '../../src/database/client.ts';
import { startReplica } from '../support/dashboard.ts';
import { onEachDatabase, plansFile } from '../support/service.ts';
import { eventually } from '../support/upstream/engine.ts';
import {
  anyTarget,
  arrives,
  deliveriesOf,
  newestDelivery,
  setWebhook,
  startReceiver,
  verify,
} from '../support/webhook-receiver.ts';

const chat = { messages: [{ role: 'user', content: 'Hello' }] };

const LEASE_MS = 60_000;

const env = { ...anyTarget, ...plansFile(t, { chat: 5, images: 100 }) };

onEachDatabase(t, env, async (t, service) => {
  const { client, database } = service;
  const { db } = database;
  // The tests mostly wait, so they run in parallel.
  t.jobs = 8;
  const replica = service.kind === 'postgres' ? await startReplica(t, service) : undefined;

  t.test(
    'a test message arrives with a signature that the reference library verifies',
    { buffered: true },
    async (t) => {
      const { cookie } = await client.signUp();
      const receiver = await startReceiver(t);
      const { secret } = await setWebhook(client, cookie, `${receiver.url}?from=parley`);
      const sent = await client.request('POST', '/webhook/test', { cookie });
      // The message may be delivered before the response arrives.
      t.match(sent, { status: 202, body: { type: 'webhook.test', status: /^(pending|delivered)$/ } });
      const message = await arrives(receiver, 'webhook.test');
      t.doesNotThrow(() => verify(message, secret));
      t.throws(() => verify({ ...message, text: `${message.text} ` }, secret), 'a changed body');
      t.equal(message.path, '/hook?from=parley');
      t.match(message.headers, { 'content-type': 'application/json', 'webhook-id': sent.body.id });
      t.same(message.body, { type: 'webhook.test', timestamp: sent.body.at, data: {} });
      const delivery = await newestDelivery(client, cookie, ({ status }) => status === 'delivered');
      t.match(delivery, { id: sent.body.id, attempts: 1, response_status: 204, error: null });
      t.equal(delivery.next_attempt_at, null);
    },
  );

  t.test('after a rotation, both secrets sign messages for a day', { buffered: true }, async (t) => {
    const { accountId, cookie } = await client.signUp();
    const receiver = await startReceiver(t);
    const { secret: old } = await setWebhook(client, cookie, receiver.url);
    const { body: rotated } = await client.request('POST', '/webhook/secret', { cookie });
    t.not(rotated.secret, old);
    const hours = (Date.parse(rotated.old_secret_ends_at) - Date.now()) / 3_600_000;
    t.ok(hours > 23.9 && hours <= 24.01, String(hours));
    await client.request('POST', '/webhook/test', { cookie });
    const both = await arrives(receiver, 'webhook.test');
    t.doesNotThrow(() => verify(both, old));
    t.doesNotThrow(() => verify(both, rotated.secret));
    await db.execute(
      sql`update webhooks set old_secret_ends_at = now() where account_id = ${accountId}::uuid`,
    );
    await client.request('POST', '/webhook/test', { cookie });
    const later = await arrives(receiver, 'webhook.test', 2);
    t.throws(() => verify(later, old));
    t.doesNotThrow(() => verify(later, rotated.secret));
    t.equal((await client.get('/webhook', { cookie })).body.data.old_secret_ends_at, null);
  });

  t.test('key.created is sent for a new key, without its secret', { buffered: true }, async (t) => {
    const owner = await client.signUp();
    const receiver = await startReceiver(t);
    const { secret } = await setWebhook(client, owner.cookie, receiver.url);
    const { id, key } = await client.createKey(owner, { name: 'CI' });
    const message = await arrives(receiver, 'key.created');
    t.doesNotThrow(() => verify(message, secret));
    t.same(message.body.data, { key_id: id, name: 'CI' });
    t.notOk(message.text.includes(key.slice(-20)));
  });

  t.test(
    'key.reported_leaked is sent for a reported key, with the action taken',
    { buffered: true },
    async (t) => {
      const owner = await client.signUp();
      const receiver = await startReceiver(t);
      await setWebhook(client, owner.cookie, receiver.url);
      const report = (key: string) => client.post('/keys/report-leak', { keys: [key] });
      const secret = await client.createKey(owner, { name: 'Server' });
      const rotated = await client.post(
        `/keys/${secret.id}/rotate`,
        { grace_seconds: 3600 },
        { cookie: owner.cookie },
      );
      const open = await client.createKey(owner, { allowed_origins: ['https://app.example.com'] });
      await report(secret.key);
      t.match((await arrives(receiver, 'key.reported_leaked')).body.data, {
        key_id: secret.id,
        action: 'old_secret_revoked',
      });
      await report(rotated.body.key);
      t.match((await arrives(receiver, 'key.reported_leaked', 2)).body.data, {
        key_id: secret.id,
        name: 'Server',
        action: 'key_revoked',
      });
      await report(open.key);
      t.match((await arrives(receiver, 'key.reported_leaked', 3)).body.data, {
        key_id: open.id,
        action: 'none',
      });
    },
  );

  t.test(
    'session.new_device is sent for a sign-in from a new device, but not from a known one',
    { buffered: true },
    async (t) => {
      const { cookie, email, password } = await client.signUp();
      const receiver = await startReceiver(t);
      await setWebhook(client, cookie, receiver.url);
      const headers = { 'user-agent': 'Someone/1' };
      const first = await client.post('/auth/login', { email, password }, { headers });
      const device = first.headers.getSetCookie().find((one) => one.includes('_device=')) ?? '';
      const message = await arrives(receiver, 'session.new_device');
      t.same(message.body.data, { address: '127.0.0.1', user_agent: 'Someone/1' });
      await client.post('/auth/login', { email, password }, { cookie: device.split(';')[0] ?? '' });
      await client.request('POST', '/webhook/test', { cookie });
      await arrives(receiver, 'webhook.test');
      t.equal(receiver.received.length, 2, 'the second sign-in sent nothing');
    },
  );

  t.test(
    'usage.threshold_reached is sent at 80% and 100% of a limit, once a day across replicas',
    { buffered: true },
    async (t) => {
      const owner = await client.signUp();
      const receiver = await startReceiver(t);
      await setWebhook(client, owner.cookie, receiver.url);
      const { key } = await client.createKey(owner);
      for (let n = 0; n < 3; n += 1)
        t.equal((await client.post('/chat/completions', chat, { key })).status, 200);
      await (replica?.client ?? client).post('/chat/completions', chat, { key });
      const told = await arrives(receiver, 'usage.threshold_reached');
      t.match(told.body.data, { meter: 'chat', threshold: 80, used: 4, limit: 5 });
      t.equal(told.body.data.day, told.body.timestamp.slice(0, 10));
      await client.post('/chat/completions', chat, { key });
      const full = await arrives(receiver, 'usage.threshold_reached', 2);
      t.match(full.body.data, { meter: 'chat', threshold: 100, used: 5, limit: 5 });
      t.equal((await client.post('/chat/completions', chat, { key })).status, 429);
      // Once this message arrives, a check has run after all requests above.
      const other = await client.signUp();
      const later = await startReceiver(t);
      await setWebhook(client, other.cookie, later.url);
      const otherKey = await client.createKey(other);
      for (let n = 0; n < 4; n += 1) await client.post('/chat/completions', chat, { key: otherKey.key });
      await arrives(later, 'usage.threshold_reached');
      const reached = receiver.received.filter(({ body }) => body.type === 'usage.threshold_reached');
      t.equal(reached.length, 2);
    },
  );

  t.test('events from before a webhook was set are never sent', { buffered: true }, async (t) => {
    const owner = await client.signUp();
    await client.createKey(owner);
    await setWebhook(client, owner.cookie, 'http://127.0.0.1:9');
    t.same(await deliveriesOf(client, owner.cookie), []);
  });

  t.test(
    'a failed attempt is retried with the same ID, and the log records the error',
    { buffered: true },
    async (t) => {
      const { accountId, cookie } = await client.signUp();
      const receiver = await startReceiver(t);
      const { secret } = await setWebhook(client, cookie, receiver.url);
      receiver.answers = [500, 301, 0];
      receiver.headers = { location: '/elsewhere' };
      await client.request('POST', '/webhook/test', { cookie });
      const errors = [
        /^The endpoint returned 500\.$/,
        /^The endpoint returned 301\. Redirects are not followed\.$/,
        /^The (connection was reset|endpoint closed the connection without a response)\.$/,
      ];
      for (const [index, error] of errors.entries()) {
        const failed = await newestDelivery(
          client,
          cookie,
          ({ attempts, error: told }) => attempts === index + 1 && error.test(told ?? ''),
        );
        t.match(failed, { status: 'pending' });
        const waits = Date.parse(failed.next_attempt_at) - Date.parse(failed.last_attempt_at);
        const most = [5000, 60_000, 300_000][index] as number;
        t.ok(waits >= most * 0.9 - 1 && waits <= most + 16_000, `${waits} ms`);
        await db.execute(
          sql`update webhook_messages set due_at = now() where account_id = ${accountId}::uuid and due_at is not null`,
        );
      }
      t.match(await newestDelivery(client, cookie, ({ status }) => status === 'delivered'), { attempts: 4 });
      t.equal(new Set(receiver.received.map(({ headers }) => headers['webhook-id'])).size, 1);
      t.equal(new Set(receiver.received.map(({ text }) => text)).size, 1);
      t.equal(receiver.received.length, 4, 'the redirect was not followed');
      for (const message of receiver.received) t.doesNotThrow(() => verify(message, secret));
    },
  );

  t.test('a message fails permanently after its tenth attempt', { buffered: true }, async (t) => {
    const { accountId, cookie } = await client.signUp();
    const receiver = await startReceiver(t);
    await setWebhook(client, cookie, receiver.url);
    receiver.answers = [503];
    await db.execute(sql`
      insert into webhook_messages (account_id, id, at, type, data, status, attempts, due_at)
      values (${accountId}::uuid, gen_random_uuid(), now(), 'webhook.test', '{}', 'pending', 9, now())`);
    const failed = await newestDelivery(client, cookie, ({ attempts, error }) => attempts === 10 && !!error);
    t.match(failed, { status: 'failed', next_attempt_at: null, response_status: 503 });
  });

  t.test('an attempt has a lease, and times out after 15 seconds', { buffered: true }, async (t) => {
    const { accountId, cookie } = await client.signUp();
    const receiver = await startReceiver(t);
    await setWebhook(client, cookie, receiver.url);
    receiver.answers = [-1];
    await client.request('POST', '/webhook/test', { cookie });
    await arrives(receiver, 'webhook.test');
    const [leased] = await deliveriesOf(client, cookie);
    t.match(leased, { status: 'pending', attempts: 1, response_status: null });
    const lease = Date.parse(leased.next_attempt_at) - Date.parse(leased.last_attempt_at);
    t.equal(lease, LEASE_MS, 'longer than an attempt, so only a dead process loses its lease');
    await eventually(
      'the attempt ends',
      async () => {
        const [row] = await rowsOf<{ error: string | null }>(
          db,
          sql`select error from webhook_messages where account_id = ${accountId}::uuid`,
        );
        return row?.error === 'There was no response within 15 seconds.';
      },
      40_000,
    );
    t.equal(receiver.received.length, 1);
  });

  t.test(
    '410 disables the webhook and fails its pending messages, and saving it again enables it',
    { buffered: true },
    async (t) => {
      const owner = await client.signUp();
      const { cookie } = owner;
      const receiver = await startReceiver(t);
      receiver.answers = [410];
      await setWebhook(client, cookie, receiver.url);
      await client.request('POST', '/webhook/test', { cookie });
      await eventually('the webhook is disabled', async () => {
        const { body } = await client.get('/webhook', { cookie });
        return body.data.disabled_at !== null;
      });
      await client.createKey(owner);
      t.match(await client.request('POST', '/webhook/test', { cookie }), {
        status: 404,
        body: { error: { message: /410 Gone. Save it again/ } },
      });
      t.match(await deliveriesOf(client, cookie), [{ status: 'failed', response_status: 410 }]);
      t.equal((await setWebhook(client, cookie, receiver.url)).disabled_at, null);
      await client.request('POST', '/webhook/test', { cookie });
      await newestDelivery(client, cookie, ({ status }) => status === 'delivered');
    },
  );

  t.test('a deleted account receives no more messages', { buffered: true }, async (t) => {
    const { accountId, cookie, password } = await client.signUp();
    const receiver = await startReceiver(t);
    await setWebhook(client, cookie, receiver.url);
    await db.execute(sql`
      insert into webhook_messages (account_id, id, at, type, data, status, attempts, due_at)
      values (${accountId}::uuid, gen_random_uuid(), now(), 'key.created', '{}', 'pending', 0, now() + interval '1 hour')`);
    const deleted = await client.request('DELETE', '/account', {
      cookie,
      body: { current_password: password },
    });
    t.equal(deleted.status, 204);
    await db.execute(sql`update webhook_messages set due_at = now() where account_id = ${accountId}::uuid`);
    await eventually('the message has failed', async () => {
      const [row] = await rowsOf<{ status: string }>(
        db,
        sql`select status from webhook_messages where account_id = ${accountId}::uuid`,
      );
      return row?.status === 'failed';
    });
    t.same(receiver.received, []);
  });

  await t.test('metrics count attempts and pending messages', async (t) => {
    // Either replica may have made an attempt.
    const origins = [client.origin, ...(replica ? [replica.client.origin] : [])];
    const texts = await Promise.all(origins.map(async (origin) => (await fetch(`${origin}/metrics`)).text()));
    const text = texts.join('\n');
    t.match(text, /^parley_webhook_attempts_total\{outcome="delivered"\} [1-9]/m);
    t.match(text, /^parley_webhook_attempts_total\{outcome="failed"\} [1-9]/m);
    t.match(text, /^parley_webhook_waiting_messages \d/m);
  });
});
