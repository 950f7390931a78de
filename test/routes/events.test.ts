import { sql } from 'drizzle-orm';
import t from 'tap';
import { v7 as uuidv7 } from 'uuid';
import { runOperatorCommand } from '../../src/commands/operator.ts';
import type { Db } from '../../src/database/client.ts';
import { recordEvent } from '../../src/store/events.ts';
import { cookieOf } from '../support/dashboard.ts';
import type { Body, Client } from '../support/http.ts';
import { onEachDatabase } from '../support/service.ts';
import { eventually } from '../support/upstream/engine.ts';

const eventsOf = async (client: Client, cookie: string, query = '?limit=200'): Promise<Body[]> =>
  (await client.get(`/events${query}`, { cookie })).body.data;

/** Inserts events of an account: three per millisecond back from now, with IDs in a different order than the times. */
const insertEvents = (db: Db, accountId: string, count: number) =>
  db.execute(sql`
    insert into account_events (account_id, id, at, type)
    select ${accountId}::uuid, gen_random_uuid(), now() - n / 3 * interval '1 millisecond', 'signedIn'
    from generate_series(1, ${count}::int) n`);

async function readAll(client: Client, cookie: string, limit: number, between = async () => {}) {
  const rows: Body[] = [];
  for (let cursor: string | null = ''; cursor !== null; ) {
    const answer: Body = await client.get(`/events?limit=${limit}${cursor && `&cursor=${cursor}`}`, {
      cookie,
    });
    if (answer.status !== 200) throw new Error(answer.text);
    rows.push(...answer.body.data);
    cursor = answer.body.next_cursor;
    await between();
  }
  return rows;
}

onEachDatabase(t, {}, async (t, { app, client, database }) => {
  const { db } = database;

  await t.test("lists an owner's actions with time, address, and user agent, newest first", async (t) => {
    const headers = { 'user-agent': 'Test/1', 'x-forwarded-for': '203.0.113.9' };
    const email = `trail-${crypto.randomUUID()}@example.com`;
    const password = 'correct horse battery';
    const next = 'a better staple';
    const signUp = await client.post('/auth/signup', { email, password }, { headers });
    const first = cookieOf(signUp);
    const signIn = (secret: string) => client.post('/auth/login', { email, password: secret }, { headers });
    const second = cookieOf(await signIn(password));
    const third = cookieOf(await signIn(password));
    await client.request('POST', '/auth/logout', { cookie: third, headers });
    const listed = (await client.get('/sessions', { cookie: second })).body.data;
    const firstId = listed.find(({ current }: Body) => !current).id;
    await client.delete(`/sessions/${firstId}`, { cookie: second, headers });
    t.equal((await client.get('/account', { cookie: first })).status, 401);
    const changed = await client.post(
      '/account/password',
      { current_password: password, new_password: next },
      { cookie: second, headers },
    );
    const cookie = cookieOf(changed);
    const renamed = `new-${email}`;
    const options = { cookie, headers };
    t.equal(
      (await client.patch('/account', { email: renamed, current_password: next }, options)).status,
      200,
    );
    const plan = { plan: 'plus', billing_period: 'yearly' };
    for (let n = 0; n < 2; n += 1) await client.put('/subscription', plan, options);

    const events = await eventsOf(client, cookie);
    t.match(events, [
      { type: 'planChanged', detail: 'plus, yearly' },
      { type: 'emailChanged', detail: renamed },
      { type: 'passwordChanged', detail: null },
      { type: 'sessionEnded', detail: /127\.0\.0\.1/ },
      { type: 'signedOut' },
      { type: 'signedIn' },
      { type: 'signedIn' },
      { type: 'accountCreated' },
    ]);
    t.equal(events.length, 8, 'each action once, and none for an unchanged plan');
    for (const { address, at, key_id, user_agent } of events) {
      t.match({ address, user_agent }, { address: /127\.0\.0\.1/, user_agent: 'Test/1' });
      t.equal(key_id, null);
      t.ok(Math.abs(Date.parse(at) - Date.now()) < 120_000);
    }
  });

  await t.test("the operator's actions have no address or user agent", async (t) => {
    const owner = await client.signUp();
    const context = { db, config: app.config };
    await runOperatorCommand(context, 'set-plan', [owner.email, 'pro', 'monthly']);
    const [line = ''] = await runOperatorCommand(context, 'reset-password', [owner.email]);
    const password = line.split(': ')[1];
    const cookie = cookieOf(await client.post('/auth/login', { email: owner.email, password }));
    const nowhere = { address: null, user_agent: null };
    const events = await eventsOf(client, cookie);
    t.match(events, [
      { type: 'signedIn' },
      { type: 'passwordReset', ...nowhere },
      { type: 'planChanged', detail: 'pro, monthly', ...nowhere },
      { type: 'accountCreated' },
    ]);
    t.notOk(JSON.stringify(events).includes(String(password)));
  });

  await t.test('failed sign-ins and wrong current passwords add at most one event per minute', async (t) => {
    const owner = await client.signUp();
    const { cookie, email } = owner;
    const failed = async () => (await eventsOf(client, cookie)).filter(({ type }) => type === 'signInFailed');
    const wrong = { email, password: 'wrong password' };
    await Promise.all(
      Array.from({ length: 8 }, () =>
        client.post('/auth/login', wrong, { headers: { 'user-agent': 'Attacker/1' } }),
      ),
    );
    await eventually('the failed sign-in is recorded', async () => (await failed()).length > 0);
    const current = { email: 'x@example.com', current_password: 'wrong password' };
    t.equal((await client.patch('/account', current, { cookie })).status, 401);
    await client.post('/auth/login', { ...wrong, email: `un${email}` });
    // Enough for a second event, which would be a mistake, to be stored.
    await new Promise((resolve) => setTimeout(resolve, 300));
    t.match(await failed(), [{ user_agent: 'Attacker/1' }]);
    t.equal((await failed()).length, 1);

    const other = await client.signUp();
    await client.patch('/account', current, { cookie: other.cookie });
    await eventually('the other account has an event', async () =>
      (await eventsOf(client, other.cookie)).some(({ type }) => type === 'signInFailed'),
    );
  });

  await t.test('rejected requests add no events', async (t) => {
    const [owner, other] = [await client.signUp(), await client.signUp()];
    const { cookie, email, password } = owner;
    await client.patch('/account', { email: other.email, current_password: password }, { cookie });
    await client.put('/subscription', { plan: 'gold', billing_period: 'yearly' }, { cookie });
    await client.post('/auth/signup', { email, password });
    const headers = { 'sec-fetch-site': 'cross-site' };
    await client.request('POST', '/auth/logout', { cookie, headers });
    t.match(await eventsOf(client, cookie), [{ type: 'accountCreated' }]);
    t.equal((await eventsOf(client, cookie)).length, 1);
  });

  await t.test("another account sees none of the events, even with the owner's cursor", async (t) => {
    const [owner, stranger] = [await client.signUp(), await client.signUp()];
    await insertEvents(db, owner.accountId, 5);
    const { next_cursor: cursor } = (await client.get('/events?limit=2', { cookie: owner.cookie })).body;
    t.equal((await eventsOf(client, stranger.cookie)).length, 1);
    t.same(
      (await eventsOf(client, stranger.cookie, `?cursor=${cursor}`)).filter(
        ({ type }) => type !== 'accountCreated',
      ),
      [],
    );
  });

  await t.test('pages of any size list every event once, even while events are added', async (t) => {
    const { accountId, cookie } = await client.signUp();
    await insertEvents(db, accountId, 60);
    const whole = await readAll(client, cookie, 200);
    const ids = (rows: Body[]) => rows.map(({ id }) => id);
    t.equal(new Set(ids(whole)).size, 61);
    t.same(
      ids(whole.toSorted((a, b) => (a.at < b.at || (a.at === b.at && a.id < b.id) ? 1 : -1))),
      ids(whole),
    );
    for (const limit of [1, 7, 60, 61]) t.same(ids(await readAll(client, cookie, limit)), ids(whole));
    const seen = await readAll(client, cookie, 5, () => recordNow(db, accountId));
    t.equal(new Set(ids(seen)).size, seen.length, 'no duplicate events');
    t.same(ids(seen), ids(whole), 'no missing events, and no later ones');
  });

  await t.test('400 invalidRequest: invalid limits, cursors, and parameters', async (t) => {
    const { cookie } = await client.signUp();
    const broken = Buffer.from(`2026-11-20T00:00:00.000Z|${uuidv7()}|x`).toString('base64url');
    for (const query of ['limit=0', 'limit=201', 'limit=x', 'cursor=x', `cursor=${broken}`, 'type=signedIn'])
      t.equal((await client.get(`/events?${query}`, { cookie })).status, 400, query);
  });

  await t.test('a deleted account gets no more events', async (t) => {
    const { accountId, cookie, password } = await client.signUp();
    const body = { current_password: password };
    t.equal((await client.delete('/account', { body, cookie })).status, 204);
    const rows = () =>
      db.$count(sql`account_events where account_id = ${accountId}::uuid` as never).then(Number);
    const before = await rows();
    await recordNow(db, accountId);
    t.equal(await rows(), before);
  });
});

const recordNow = (db: Db, accountId: string) =>
  recordEvent(db, { accountId, type: 'keyCreated', from: null, detail: 'late' });
