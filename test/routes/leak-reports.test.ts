// POST /keys/report-leak: anyone can revoke a leaked key, and learns nothing about it. Contract sections 1 and 5.
import t from 'tap';
import { generateApiKey } from '../../src/domain/api-key.ts';
import { eventsOfKey } from '../support/events.ts';
import { forge } from '../support/keys.ts';
import { startRequest, statusOf } from '../support/raw-request.ts';
import { onEachDatabase, startTestService } from '../support/service.ts';

onEachDatabase(t, {}, async (t, { client, database }) => {
  const owner = await client.signUp();
  const { cookie } = owner;
  const report = (...keys: string[]) => client.post('/keys/report-leak', { keys });
  const codeOf = async (key: string) => {
    const { body, status } = await client.get('/models', { key });
    return status === 200 ? status : body.error.code;
  };

  await t.test('202: revokes valid keys immediately, whatever else the report contains', async (t) => {
    const [one, other, untouched] = [
      await client.createKey(owner, { name: 'One' }),
      await client.createKey(owner),
      await client.createKey(owner),
    ];
    for (const { key } of [one, other, untouched]) t.equal(await codeOf(key), 200);
    const wrongSecret = generateApiKey().rawKey;
    const answer = await report('nonsense', one.key, wrongSecret, one.key, '', other.key);
    t.match(answer, { status: 202, text: '' });
    for (const { key } of [one, other]) t.equal(await codeOf(key), 'apiKeyRevoked');
    t.equal(await codeOf(untouched.key), 200);
    t.match((await client.get('/keys', { cookie })).body.data, [{ id: untouched.id }]);
    t.same(
      await eventsOfKey(database.db, one.id),
      [
        { type: 'keyCreated', address: '127.0.0.1', detail: 'One' },
        { type: 'keyReportedLeaked', address: null, detail: 'One' },
      ],
      'the owner sees the report, but not the address of the reporter',
    );
    t.match(await report(one.key), { status: 202, text: '' }, 'reported again');
    t.equal((await eventsOfKey(database.db, one.id)).length, 2);
  });

  await t.test(
    '202: a key with allowed origins is public, so it stays valid and adds one event per day',
    async (t) => {
      const stranger = await client.signUp();
      const { id, key } = await client.createKey(stranger, {
        name: 'Widget',
        allowed_origins: ['https://app.example.com'],
      });
      for (let n = 0; n < 3; n += 1) t.match(await report(key, key), { status: 202, text: '' });
      await Promise.all(Array.from({ length: 5 }, () => report(key)));
      t.equal(await codeOf(key), 200);
      t.same(await eventsOfKey(database.db, id), [
        { type: 'keyCreated', address: '127.0.0.1', detail: 'Widget' },
        { type: 'publicKeyReported', address: null, detail: 'Widget' },
      ]);
      const { body } = await client.get('/events', { cookie: stranger.cookie });
      t.equal(body.data[0].type, 'publicKeyReported');
      await client.patch(`/keys/${id}`, { allowed_origins: [] }, { cookie: stranger.cookie });
      await report(key);
      t.equal(await codeOf(key), 'apiKeyRevoked', 'a key without origins is secret');
    },
  );

  await t.test('202: existing and unknown keys get the same response after the same delay', async (t) => {
    const { key } = await client.createKey(owner);
    const answers = [];
    for (const reported of [generateApiKey().rawKey, key, 'nonsense']) {
      const sentAt = performance.now();
      const { headers, status, text } = await report(reported);
      t.ok(performance.now() - sentAt >= 199, 'not before the delay');
      const fields = [...headers].filter(([name]) => !['date', 'x-request-id'].includes(name));
      answers.push({ status, text, fields });
    }
    t.same(answers[1], answers[0]);
    t.same(answers[2], answers[0]);
  });

  await t.test('reporting a rotated secret ends only that secret, and the new one stays valid', async (t) => {
    const old = await client.createKey(owner);
    const rotated = await client.post(`/keys/${old.id}/rotate`, { grace_seconds: 600 }, { cookie });
    t.equal(await codeOf(old.key), 200);
    await report(old.key);
    t.equal(await codeOf(old.key), 'apiKeyRevoked');
    t.equal(await codeOf(rotated.body.key), 200);
    await report(old.key, rotated.body.key);
    t.equal(await codeOf(rotated.body.key), 'apiKeyRevoked');
  });

  await t.test('a forged key with an existing public ID revokes nothing', async (t) => {
    const { key } = await client.createKey(owner);
    // The forged key has a valid checksum, so its format does not reveal the forgery.
    const forged = forge(key);
    t.not(forged, key);
    t.equal((await report(forged)).status, 202);
    t.equal(await codeOf(forged), 'invalidApiKey');
    t.equal(await codeOf(key), 200);
  });

  await t.test('400: no list, an empty list, more than 20 keys, or other fields', async (t) => {
    for (const body of [
      {},
      { keys: [] },
      { keys: Array(21).fill('x') },
      { keys: 'x' },
      { keys: ['x'], all: 1 },
    ])
      t.match(await client.post('/keys/report-leak', body), {
        status: 400,
        body: { error: { code: 'invalidRequest' } },
      });
    t.equal((await report(...Array(20).fill('x'))).status, 202);
  });
});

t.test('reports are limited by address, separately from sign-ups', async (t) => {
  const { client } = await startTestService(t, 'postgres', { AUTH_ATTEMPTS_PER_MINUTE: '3' });
  const answers = await Promise.all(
    Array.from({ length: 5 }, () => client.post('/keys/report-leak', { keys: ['x'] })),
  );
  t.equal(answers.filter(({ status }) => status === 202).length, 3);
  const refused = answers.find(({ status }) => status === 429);
  t.match(refused, { body: { error: { code: 'rateLimitExceeded', limit: { ceiling: 3 } } } });
  t.ok(Number(refused?.headers.get('retry-after')) > 0);
  await client.signUp();
});

t.test('invalid reports count toward the limit, before their body is read', async (t) => {
  const { client, port } = await startTestService(t, 'postgres', { AUTH_ATTEMPTS_PER_MINUTE: '3' });
  const statuses: number[] = [];
  for (const body of [{ keys: [] }, { keys: [{}] }, {}, { keys: [] }, { keys: ['x'] }])
    statuses.push((await client.post('/keys/report-leak', body)).status);
  t.same(statuses, [400, 400, 400, 429, 429]);
  const { answer, send } = startRequest(port, 'POST /api/v1/keys/report-leak', { 'Content-Length': '1000' });
  await send('{"keys":');
  t.equal(statusOf(await answer), 429, 'rejected before most of the body has arrived');
});
