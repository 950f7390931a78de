// POST /keys/:id/rotate, and the audit trail of keys. Contract section 3.
import { setTimeout as sleep } from 'node:timers/promises';
import t, { type Test } from 'tap';
import { startReplica } from '../support/dashboard.ts';
import { eventsOfKey } from '../support/events.ts';
import type { Client } from '../support/http.ts';
import { onEachDatabase } from '../support/service.ts';

/** The outcome of a request with the key: 200 or an error code. */
async function answerTo(client: Client, t: Test, key: string): Promise<number | string> {
  const { body, headers, status } = await client.get('/models', { key });
  if (status === 200) return status;
  t.equal(headers.get('www-authenticate'), 'Bearer error="invalid_token"');
  return body.error.code;
}

onEachDatabase(t, {}, async (t, service) => {
  const { client, database } = service;
  const owner = await client.signUp();
  const { cookie } = owner;
  const rotate = (id: string, body: unknown = {}) => client.post(`/keys/${id}/rotate`, body, { cookie });

  await t.test(
    '200: the ID stays the same, the secret and its prefix change, and the old secret ends immediately',
    async (t) => {
      const fields = { name: 'Website', scopes: ['models'], allowed_origins: ['https://a.example'] };
      const expires_at = new Date(Date.now() + 3_600_000).toISOString();
      const old = await client.createKey(owner, { ...fields, expires_at });
      t.equal(await answerTo(client, t, old.key), 200);
      const { body, status } = await rotate(old.id);
      t.match({ body, status }, { status: 200, body: { id: old.id, ...fields, expires_at } });
      t.not(body.key_prefix, old.key_prefix);
      t.ok(body.key.startsWith(`${body.key_prefix}_`));
      t.equal(await answerTo(client, t, old.key), 'apiKeyRevoked');
      t.equal(await answerTo(client, t, body.key), 200);
      const listed = await client.get('/keys', { cookie });
      t.match(listed.body.data, [{ id: old.id, key_prefix: body.key_prefix }]);
      t.notOk(listed.text.includes(body.key.slice(16)));
      await client.delete(`/keys/${old.id}`, { cookie });
    },
  );

  await t.test('grace_seconds: the old secret works for this long, then returns apiKeyRevoked', async (t) => {
    const old = await client.createKey(owner);
    const { body } = await rotate(old.id, { grace_seconds: 2 });
    const rotatedAt = Date.now();
    t.equal(await answerTo(client, t, old.key), 200);
    t.equal(await answerTo(client, t, body.key), 200);
    const left = rotatedAt + 2000 - Date.now();
    if (left > 500) {
      await sleep(left - 400);
      t.equal(await answerTo(client, t, old.key), 200, 'until the grace period ends');
    }
    await sleep(rotatedAt + 2010 - Date.now());
    t.equal(await answerTo(client, t, old.key), 'apiKeyRevoked', 'a cached secret also ends on time');
    t.equal(await answerTo(client, t, body.key), 200);
    await client.delete(`/keys/${old.id}`, { cookie });
  });

  await t.test('at most one old secret stays valid, and revoking the key ends both secrets', async (t) => {
    const first = await client.createKey(owner);
    const second = (await rotate(first.id, { grace_seconds: 600 })).body;
    t.equal(await answerTo(client, t, first.key), 200);
    const third = (await rotate(first.id, { grace_seconds: 604_800 })).body;
    t.equal(await answerTo(client, t, first.key), 'apiKeyRevoked');
    t.equal(await answerTo(client, t, second.key), 200);
    t.equal(await answerTo(client, t, third.key), 200);
    await client.delete(`/keys/${first.id}`, { cookie });
    t.equal(await answerTo(client, t, second.key), 'apiKeyRevoked');
    t.equal(await answerTo(client, t, third.key), 'apiKeyRevoked');
  });

  await t.test(
    'previous_secret_expires_at is the time when the old secret ends, or null without one',
    async (t) => {
      const previous = async () =>
        (await client.get('/keys', { cookie })).body.data[0].previous_secret_expires_at;
      const created = await client.createKey(owner);
      t.equal(created.previous_secret_expires_at, null);
      t.equal(await previous(), null);
      const before = Date.now();
      const { body } = await rotate(created.id, { grace_seconds: 600 });
      const endsMs = Date.parse(body.previous_secret_expires_at);
      t.ok(endsMs >= before + 599_000 && endsMs <= Date.now() + 601_000);
      t.equal(await previous(), body.previous_secret_expires_at);
      const patched = await client.patch(
        `/keys/${created.id}`,
        { allowed_origins: ['https://a.example'] },
        { cookie },
      );
      t.equal(patched.body.previous_secret_expires_at, body.previous_secret_expires_at);
      // Several attempts, because rounding to milliseconds moves about half of the times into the future.
      for (let n = 0; n < 10; n += 1)
        t.equal((await rotate(created.id)).body.previous_secret_expires_at, null, 'without a grace period');
      await client.delete(`/keys/${created.id}`, { cookie });
    },
  );

  await t.test(
    'DELETE /keys/:id/previous-secret 204: ends only the old secret, on every replica',
    async (t) => {
      const replica = service.kind === 'postgres' ? (await startReplica(t, service)).client : client;
      const { id, key } = await client.createKey(owner, { name: 'Ended early' });
      const end = (as = cookie) => client.delete(`/keys/${id}/previous-secret`, { cookie: as });
      const nothing = { status: 404, body: { error: { code: 'notFound' } } };
      t.match(await end(), nothing, 'never rotated');
      const next = (await rotate(id, { grace_seconds: 600 })).body.key;
      t.equal(await answerTo(replica, t, key), 200);
      const stranger = await client.signUp();
      t.match(await end(stranger.cookie), nothing, "another account's key");
      t.equal((await end()).status, 204);
      const endedAt = Date.now();
      t.equal(await answerTo(client, t, key), 'apiKeyRevoked');
      while ((await answerTo(replica, t, key)) === 200 && Date.now() < endedAt + 10_000);
      t.equal(await answerTo(replica, t, key), 'apiKeyRevoked', 'on another replica');
      t.equal(await answerTo(replica, t, next), 200);
      t.match((await client.get('/keys', { cookie })).body.data, [{ id, previous_secret_expires_at: null }]);
      t.match(await end(), nothing, 'already ended');
      t.same(
        (await eventsOfKey(database.db, id)).map(({ type }) => type),
        ['keyCreated', 'keyRotated', 'previousSecretEnded'],
      );
      await rotate(id, { grace_seconds: 600 });
      await client.delete(`/keys/${id}`, { cookie });
      t.match(await end(), nothing, 'revoked');
    },
  );

  await t.test('ten concurrent rotations leave one new secret and one old secret', async (t) => {
    const { id, key } = await client.createKey(owner);
    const answers = await Promise.all(Array.from({ length: 10 }, () => rotate(id, { grace_seconds: 600 })));
    const secrets = [key, ...answers.map(({ body }) => body.key)];
    const outcomes = await Promise.all(secrets.map((secret) => answerTo(client, t, secret)));
    t.equal(outcomes.filter((outcome) => outcome === 200).length, 2);
    t.equal(outcomes.filter((outcome) => outcome === 'apiKeyRevoked').length, 9);
    await client.delete(`/keys/${id}`, { cookie });
  });

  await t.test('a key can be rotated even at the limit of five keys', async (t) => {
    const keys = [];
    for (let n = 0; n < 5; n += 1) keys.push(await client.createKey(owner));
    t.equal((await rotate(keys[0]?.id ?? '')).status, 200);
    t.equal((await client.get('/keys', { cookie })).body.data.length, 5);
    for (const { id } of keys) await client.delete(`/keys/${id}`, { cookie });
  });

  await t.test('400 invalidRequest and 404 notFound: nothing is rotated', async (t) => {
    const { id, key } = await client.createKey(owner);
    for (const body of [
      { grace_seconds: -1 },
      { grace_seconds: 604_801 },
      { grace_seconds: 1.5 },
      { grace_seconds: '60' },
      { grace_seconds: null },
      { scopes: ['images'] },
      [],
    ])
      t.match(
        await rotate(id, body),
        { status: 400, body: { error: { code: 'invalidRequest' } } },
        JSON.stringify(body),
      );
    const stranger = await client.signUp();
    const foreign = await client.post(`/keys/${id}/rotate`, {}, { cookie: stranger.cookie });
    t.match(foreign, { status: 404, body: { error: { code: 'notFound' } } }, "another account's key");
    t.equal(await answerTo(client, t, key), 200);
    await client.delete(`/keys/${id}`, { cookie });
    t.equal((await rotate(id)).status, 404, 'revoked');
    const soon = new Date(Date.now() + 2000);
    const expired = await client.createKey(owner, { expires_at: soon.toISOString() });
    await sleep(soon.getTime() - Date.now() + 10);
    t.equal((await rotate(expired.id)).status, 404, 'expired');
  });

  await t.test('the audit trail lists every change to a key and where it came from', async (t) => {
    const { id } = await client.createKey(owner, { name: 'Audited' });
    for (const allowed_origins of [['https://a.example'], ['https://a.example'], []])
      await client.patch(`/keys/${id}`, { allowed_origins }, { cookie });
    await rotate(id);
    await client.delete(`/keys/${id}`, { cookie });
    await client.delete(`/keys/${id}`, { cookie });
    const by = { address: '127.0.0.1', detail: 'Audited' };
    t.same(
      await eventsOfKey(database.db, id),
      ['keyCreated', 'originsChanged', 'originsChanged', 'keyRotated', 'keyRevoked'].map((type) => ({
        type,
        ...by,
      })),
      'requests that changed nothing are not listed',
    );
  });
});
