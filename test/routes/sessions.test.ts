import t from 'tap';
import { v7 as uuidv7 } from 'uuid';
import { cookieOf } from '../support/dashboard.ts';
import type { Body, Client, Owner } from '../support/http.ts';
import { onEachDatabase } from '../support/service.ts';

/** Signs in from an address that a trusted proxy reports. */
async function signInFrom(client: Client, { email, password }: Owner, address: string, userAgent: string) {
  const headers = { 'x-forwarded-for': address, 'user-agent': userAgent };
  return cookieOf(await client.post('/auth/login', { email, password }, { headers }));
}

const sessionsOf = async (client: Client, cookie: string): Promise<Body[]> =>
  (await client.get('/sessions', { cookie })).body.data;

onEachDatabase(t, { TRUST_PROXY: 'loopback' }, async (t, { client }) => {
  await t.test(
    'GET /sessions 200: lists sessions newest first with time, address, and user agent, and marks the current one',
    async (t) => {
      const owner = await client.signUp();
      const phone = await signInFrom(client, owner, '2001:db8::7', `Phone/1 ${'x'.repeat(400)}`);
      await client.signUp();
      const seen = await sessionsOf(client, owner.cookie);
      t.match(seen, [
        { current: false, address: '2001:db8::7', user_agent: /^Phone\/1 x+$/ },
        { current: true, address: /127\.0\.0\.1/ },
      ]);
      t.equal(seen.length, 2, "no other account's sessions");
      t.equal(seen[0].user_agent.length, 300);
      for (const { created_at, last_seen_at } of seen)
        for (const time of [created_at, last_seen_at]) t.ok(Math.abs(Date.parse(time) - Date.now()) < 60_000);
      t.match(
        await sessionsOf(client, phone),
        [{ current: true }, { current: false }],
        'from the other session',
      );
      const { text } = await client.get('/sessions', { cookie: phone });
      t.notOk(
        text.includes((phone.split('=')[1] ?? '?').split('.')[0] ?? '?'),
        'never the value of a cookie',
      );
    },
  );

  await t.test('DELETE /sessions/:id 204: ends only that session', async (t) => {
    const owner = await client.signUp();
    const [lost, kept] = [
      await signInFrom(client, owner, '192.0.2.8', 'Lost/1'),
      await signInFrom(client, owner, '192.0.2.9', 'Kept/1'),
    ];
    const { id } = (await sessionsOf(client, owner.cookie)).find((one) => one.user_agent === 'Lost/1');
    const answer = await client.delete(`/sessions/${id.toUpperCase()}`, { cookie: owner.cookie });
    t.equal(answer.status, 204);
    t.strictSame(answer.headers.getSetCookie(), [], 'the current cookie is kept');
    t.equal((await client.get('/account', { cookie: lost })).status, 401);
    t.equal((await client.get('/usage', { cookie: lost })).status, 401, 'also on endpoints that accept keys');
    for (const cookie of [owner.cookie, kept])
      t.equal((await client.get('/account', { cookie })).status, 200);
    t.equal((await client.delete(`/sessions/${id}`, { cookie: kept })).status, 404, 'already ended');
  });

  await t.test('DELETE /sessions/:id 204: signs out if it is the current session', async (t) => {
    const owner = await client.signUp();
    const elsewhere = await signInFrom(client, owner, '192.0.2.8', 'Elsewhere/1');
    const own = (await sessionsOf(client, owner.cookie)).find(({ current }) => current);
    const answer = await client.delete(`/sessions/${own.id}`, { cookie: owner.cookie });
    t.equal(answer.status, 204);
    t.match(answer.headers.getSetCookie(), [/^parley_session=; Max-Age=0; /]);
    t.equal((await client.get('/account', { cookie: owner.cookie })).status, 401);
    t.equal((await client.get('/account', { cookie: elsewhere })).status, 200);
    t.match((await client.get('/events?limit=1', { cookie: elsewhere })).body.data, [{ type: 'signedOut' }]);
  });

  await t.test(
    "DELETE /sessions/:id 404 notFound: another account's session, or an unknown ID",
    async (t) => {
      const [owner, stranger] = [await client.signUp(), await client.signUp()];
      const [theirs] = await sessionsOf(client, owner.cookie);
      for (const id of [theirs.id, uuidv7()])
        t.match(await client.delete(`/sessions/${id}`, { cookie: stranger.cookie }), {
          status: 404,
          body: { error: { code: 'notFound' } },
        });
      t.equal((await client.delete('/sessions/current', { cookie: stranger.cookie })).status, 400);
      t.equal((await client.get('/account', { cookie: owner.cookie })).status, 200);
      t.equal((await client.get('/events', { cookie: owner.cookie })).body.data.length, 1, 'no event');
    },
  );

  await t.test('DELETE /sessions/:id 403 crossSiteRequest: from another site', async (t) => {
    const { cookie } = await client.signUp();
    const [{ id }] = await sessionsOf(client, cookie);
    const headers = { 'sec-fetch-site': 'cross-site' };
    t.match(await client.delete(`/sessions/${id}`, { cookie, headers }), {
      status: 403,
      body: { error: { code: 'crossSiteRequest' } },
    });
    t.equal((await client.get('/account', { cookie })).status, 200);
  });
});
