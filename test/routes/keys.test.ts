import { setTimeout as sleep } from 'node:timers/promises';
import t from 'tap';
import { onEachDatabase } from '../support/service.ts';
import { eventually } from '../support/upstream/engine.ts';

onEachDatabase(t, {}, async (t, { client }) => {
  const owner = await client.signUp();
  const { cookie } = owner;
  const valid = { name: 'Website', scopes: ['chat'] };
  const revokeAll = async () => {
    const { body } = await client.get('/keys', { cookie });
    for (const { id } of body.data) await client.delete(`/keys/${id}`, { cookie });
  };

  await t.test('POST /keys 201: returns the full key, which no other response contains', async (t) => {
    const created = await client.post('/keys', { ...valid, name: '  Website  ' }, { cookie });
    t.equal(created.status, 201);
    t.match(created.body, {
      name: 'Website',
      scopes: ['chat'],
      allowed_origins: [],
      last_used_at: null,
      expires_at: null,
    });
    t.ok(created.body.key.startsWith(`${created.body.key_prefix}_`));
    const listed = await client.get('/keys', { cookie });
    t.equal(listed.status, 200);
    t.match(listed.body.data, [{ id: created.body.id, key_prefix: created.body.key_prefix }]);
    t.notOk(listed.text.includes(created.body.key.slice(16)), 'the list contains no part of the secret');
    await revokeAll();
  });

  await t.test(
    'GET /keys?status=inactive 200: lists expired and revoked keys, most recently expired or revoked first',
    async (t) => {
      const list = async (query = '') => (await client.get(`/keys${query}`, { cookie })).body.data;
      const expiresAt = new Date(Date.now() + 2000);
      const expired = await client.createKey(owner, { expires_at: expiresAt.toISOString() });
      const kept = await client.createKey(owner);
      await sleep(expiresAt.getTime() - Date.now() + 10);
      const revoked = await client.createKey(owner);
      await client.post(`/keys/${revoked.id}/rotate`, { grace_seconds: 600 }, { cookie });
      await client.delete(`/keys/${revoked.id}`, { cookie });
      const [first, second] = await list('?status=inactive');
      t.match(first, { id: revoked.id, expires_at: null, previous_secret_expires_at: null });
      t.ok(Date.parse(first.revoked_at) >= expiresAt.getTime());
      t.match(second, { id: expired.id, revoked_at: null, expires_at: expiresAt.toISOString() });
      for (const query of ['', '?status=active'])
        t.match(await list(query), [{ id: kept.id, revoked_at: null, previous_secret_expires_at: null }]);
      const stranger = await client.signUp();
      const { body } = await client.get('/keys?status=inactive', { cookie: stranger.cookie });
      t.same(body.data, []);
      for (const query of ['?status=all', '?status=', '?state=inactive'])
        t.match(await client.get(`/keys${query}`, { cookie }), { status: 400 }, query);
      const rotated = await client.post(`/keys/${expired.id}/rotate`, {}, { cookie });
      t.equal(rotated.status, 404, 'an expired key cannot be rotated');
      await revokeAll();
    },
  );

  await t.test(
    'POST /keys 400 invalidRequest: the error names the field, and nothing is stored',
    async (t) => {
      const wrong: [string, unknown][] = [
        ['name', { scopes: ['chat'] }],
        ['name', { name: '   ', scopes: ['chat'] }],
        ['name', { name: 'x'.repeat(101), scopes: ['chat'] }],
        ['name', { name: 1, scopes: ['chat'] }],
        ['scopes', { name: 'x' }],
        ['scopes', { name: 'x', scopes: [] }],
        ['scopes', { name: 'x', scopes: ['chat', 'chat'] }],
        ['scopes.0', { name: 'x', scopes: ['admin'] }],
        ['scopes', { name: 'x', scopes: 'chat' }],
        ['account_id', { ...valid, account_id: owner.accountId }],
        ['quota', { ...valid, quota: 1_000_000 }],
        ['expires_at', { ...valid, expires_at: '2020-01-01T00:00:00Z' }],
        ['expires_at', { ...valid, expires_at: 'tomorrow' }],
        ['expires_at', { ...valid, expires_at: 1_900_000_000 }],
        ['expires_at', { ...valid, expires_at: '9999-12-31T23:59:59-23:59' }],
        ['expires_at', { ...valid, expires_at: '9999-12-31T23:59:60Z' }],
        ['allowed_origins', { ...valid, allowed_origins: ['http://app.example.com'] }],
        ['allowed_origins', { ...valid, allowed_origins: 'https://app.example.com' }],
        [
          'allowed_origins',
          { ...valid, allowed_origins: Array.from({ length: 11 }, (_, n) => `https://a${n}.example`) },
        ],
      ];
      for (const [param, body] of wrong) {
        const answer = await client.post('/keys', body, { cookie });
        t.match(
          answer,
          { status: 400, body: { error: { code: 'invalidRequest', param } } },
          JSON.stringify(body).slice(0, 80),
        );
      }
      t.same((await client.get('/keys', { cookie })).body.data, []);
    },
  );

  await t.test('POST /keys 400: the limit of ten origins includes duplicates', async (t) => {
    const body = { ...valid, allowed_origins: Array(11).fill('https://app.example.com') };
    t.match(await client.post('/keys', body, { cookie }), {
      status: 400,
      body: { error: { param: 'allowed_origins' } },
    });
  });

  await t.test('POST /keys 400: the error has a reason for an invalid origin', async (t) => {
    const body = { ...valid, allowed_origins: ['https://app.example.com/chat'] };
    t.match(await client.post('/keys', body, { cookie }), {
      status: 400,
      body: { error: { param: 'allowed_origins', reason: 'origin_path', message: /Leave out the path/ } },
    });
  });

  await t.test(
    'POST /keys 429 apiKeyLimitReached: 30 concurrent requests create exactly five keys',
    async (t) => {
      const answers = await Promise.all(
        Array.from({ length: 30 }, () => client.post('/keys', valid, { cookie })),
      );
      t.equal(answers.filter(({ status }) => status === 201).length, 5);
      const refused = answers.filter(({ status }) => status !== 201);
      t.ok(refused.every(({ body, status }) => status === 429 && body.error.code === 'apiKeyLimitReached'));
      t.ok(
        refused.every(({ headers }) => headers.get('retry-after') === null),
        'waiting would not help',
      );
      t.equal((await client.get('/keys', { cookie })).body.data.length, 5);
      await revokeAll();
    },
  );

  await t.test(
    'POST /keys 201: expired and revoked keys are not listed and do not count toward the limit',
    async (t) => {
      const soon = new Date(Date.now() + 10_000);
      const expiring = await client.createKey(owner, { expires_at: soon.toISOString() });
      for (let n = 0; n < 4; n++) await client.createKey(owner);
      t.equal((await client.post('/keys', valid, { cookie })).status, 429);
      t.equal((await client.get('/usage', { key: expiring.key })).status, 200);
      await new Promise((resolve) => setTimeout(resolve, soon.getTime() - Date.now() + 10));
      const late = await client.get('/usage', { key: expiring.key });
      t.match(late, { status: 401, body: { error: { code: 'apiKeyExpired' } } });
      t.equal(late.headers.get('www-authenticate'), 'Bearer error="invalid_token"');
      t.equal((await client.post('/keys', valid, { cookie })).status, 201);
      t.equal((await client.get('/keys', { cookie })).body.data.length, 5);
      t.equal((await client.patch(`/keys/${expiring.id}`, { allowed_origins: [] }, { cookie })).status, 404);
      await revokeAll();
    },
  );

  await t.test('PATCH /keys/:id 200: normalizes origins and removes duplicates', async (t) => {
    const { id } = await client.createKey(owner);
    const origins = ['https://App.Example.com:443', 'https://app.example.com', 'https://bücher.example'];
    const answer = await client.patch(`/keys/${id}`, { allowed_origins: origins }, { cookie });
    t.match(answer, {
      status: 200,
      body: { id, allowed_origins: ['https://app.example.com', 'https://xn--bcher-kva.example'] },
    });
    t.same((await client.patch(`/keys/${id}`, { allowed_origins: [] }, { cookie })).body.allowed_origins, []);
    await revokeAll();
  });

  await t.test('PATCH /keys/:id 400: only origins can be changed', async (t) => {
    const { id } = await client.createKey(owner);
    for (const body of [
      {},
      { name: 'x' },
      { allowed_origins: [], scopes: ['images'] },
      { allowed_origins: [], account_id: id },
    ]) {
      t.equal((await client.patch(`/keys/${id}`, body, { cookie })).status, 400, JSON.stringify(body));
    }
    t.match((await client.get('/keys', { cookie })).body.data, [{ name: 'Test key' }]);
    await revokeAll();
  });

  await t.test('DELETE /keys/:id 204: revokes the key immediately and permanently', async (t) => {
    const { id, key } = await client.createKey(owner);
    t.equal((await client.get('/usage', { key })).status, 200);
    await eventually(
      'last_used_at is set',
      async () => (await client.get('/keys', { cookie })).body.data[0].last_used_at !== null,
      10_000,
    );
    t.match(await client.delete(`/keys/${id}`, { cookie }), { status: 204, text: '' });
    t.match(await client.get('/usage', { key }), { status: 401, body: { error: { code: 'apiKeyRevoked' } } });
    t.equal((await client.delete(`/keys/${id}`, { cookie })).status, 404);
  });

  await t.test("404 notFound: another account's key", async (t) => {
    const { id } = await client.createKey(owner);
    const other = await client.signUp();
    for (const [method, body] of [
      ['PATCH', { allowed_origins: [] }],
      ['DELETE', undefined],
    ] as const) {
      const answer = await client.request(method, `/keys/${id}`, { body, cookie: other.cookie });
      t.match(answer, { status: 404, body: { error: { code: 'notFound' } } }, method);
    }
    t.equal((await client.get('/keys', { cookie })).body.data.length, 1);
    t.equal((await client.delete('/keys/nonsense', { cookie })).status, 400);
    await revokeAll();
  });
});
