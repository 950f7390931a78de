// Reliability test 72: deleting an account and signing up again does not reset the quota.
import { sql } from 'drizzle-orm';
import t, { type Test } from 'tap';
import { rowsOf } from '../../src/database/client.ts';
import { audit } from '../../src/store/ledger-audit.ts';
import type { Client, Owner } from '../support/http.ts';
import { onEachDatabase, plansFile, type TestService } from '../support/service.ts';

const chat = { message: 'Hello', store: false };
const ask = (client: Client, { cookie }: { cookie: string }) => client.post('/chat', chat, { cookie });
const removeAccount = (client: Client, { cookie, password }: Owner) =>
  client.delete('/account', { cookie, body: { current_password: password } });
const usedBy = async (client: Client, { cookie }: Owner) =>
  (await client.get('/usage', { cookie })).body.used;
const email = () => `user-${crypto.randomUUID()}@example.com`;

async function isClean(t: Test, { database }: TestService) {
  t.strictSame((await audit(database.db)).differences, [], 'the audit is clean');
}

onEachDatabase(t, plansFile(t, { chat: 5, search: 9 }), async (t, service) => {
  const { client, database } = service;

  await t.test(
    '72: an account that is deleted and signs up again the same day keeps its usage',
    async (t) => {
      const first = await client.signUp(email());
      for (let n = 0; n < 3; n += 1) t.equal((await ask(client, first)).status, 200);
      t.equal((await client.post('/search', { query: 'keys' }, { cookie: first.cookie })).status, 200);
      t.equal((await removeAccount(client, first)).status, 204);

      const second = await client.signUp(first.email.toUpperCase());
      t.match(await usedBy(client, second), { chat: 3, search: 1, images: 0 });
      const { body } = await client.get('/requests', { cookie: second.cookie });
      t.equal(body.data.length, 2, 'one log entry per meter');
      for (const row of body.data)
        t.match(row, { kind: 'request', endpoint: 'carriedOver', state: 'final', key_id: null, code: null });
      t.same(
        new Map(body.data.map(({ meter, units }: { meter: string; units: number }) => [meter, units])),
        new Map([
          ['chat', 3],
          ['search', 1],
        ]),
      );
      t.equal(
        (await client.get('/requests?endpoint=carriedOver', { cookie: second.cookie })).body.data.length,
        2,
      );

      for (let n = 0; n < 2; n += 1) t.equal((await ask(client, second)).status, 200);
      t.equal((await ask(client, second)).body.error.code, 'quotaExceeded');
      await isClean(t, service);

      t.equal((await removeAccount(client, second)).status, 204);
      const third = await client.signUp(first.email);
      t.match(
        await usedBy(client, third),
        { chat: 5, search: 1 },
        'after a second deletion, usage is neither lost nor doubled',
      );
      await isClean(t, service);
      t.match(
        await usedBy(client, await client.signUp(email())),
        { chat: 0 },
        'another email address starts at 0',
      );
    },
  );

  await t.test(
    '72: requests and sign-ups that race with the deletion neither lose nor double usage',
    async (t) => {
      for (let round = 0; round < 3; round += 1) {
        const owner = await client.signUp(email());
        const { key } = await client.createKey(owner);
        const asked = Array.from({ length: 4 }, () => client.post('/chat', chat, { key }));
        const deleted = removeAccount(client, owner);
        const again = Array.from({ length: 4 }, () =>
          client.post('/auth/signup', { email: owner.email, password: owner.password }),
        );
        const answers = await Promise.all(asked);
        t.equal((await deleted).status, 204);
        const early = (await Promise.all(again)).some(({ status }) => status === 201);
        const [{ used: counted } = { used: '0' }] = await rowsOf<{ used: string }>(
          database.db,
          sql`select coalesce(sum(used), 0)::text as used from usage_counters where account_id = ${owner.accountId}::uuid and meter = 'chat'`,
        );
        const delivered = answers.filter(({ status }) => status === 200).length;
        t.ok(Number(counted) >= delivered, 'every delivered reply was charged');
        const signedIn = early
          ? await client.post('/auth/login', { email: owner.email, password: owner.password })
          : await client.post('/auth/signup', { email: owner.email, password: owner.password });
        const cookie = (signedIn.headers.getSetCookie()[0] ?? '').split(';')[0] ?? '';
        const { body } = await client.get('/usage', { cookie });
        t.ok(body.used.chat >= delivered, `${body.used.chat} carried over, ${delivered} delivered`);
        t.ok(body.used.chat <= 4, 'no unit is counted twice');
      }
      const [left] = await rowsOf<{ count: string }>(
        database.db,
        sql`select count(*)::text as count from carried_usage`,
      );
      t.equal(left?.count, '0', 'all carried usage was moved to the new accounts');
      await isClean(t, service);
    },
  );

  await t.test(
    '72: an email address that an account gave up that day keeps the usage from that time',
    async (t) => {
      const owner = await client.signUp(email());
      for (let n = 0; n < 2; n += 1) await ask(client, owner);
      const change = (to: string) =>
        client.patch('/account', { email: to, current_password: owner.password }, { cookie: owner.cookie });
      const other = email();
      t.equal((await change(other)).status, 200);
      await ask(client, owner);
      t.equal((await removeAccount(client, owner)).status, 204);
      t.match(await usedBy(client, await client.signUp(owner.email)), { chat: 2 });
      t.match(await usedBy(client, await client.signUp(other)), { chat: 3 });

      const back = await client.signUp(email());
      await ask(client, back);
      const body = (to: string) => ({ email: to, current_password: back.password });
      t.equal((await client.patch('/account', body(email()), { cookie: back.cookie })).status, 200);
      t.equal((await client.patch('/account', body(back.email), { cookie: back.cookie })).status, 200);
      t.equal((await removeAccount(client, back)).status, 204);
      t.match(
        await usedBy(client, await client.signUp(back.email)),
        { chat: 1 },
        'changing the address and back counts once',
      );
      await isClean(t, service);
    },
  );

  await t.test('the table of carried usage stores no email address in plain text', async (t) => {
    const owner = await client.signUp(email());
    await ask(client, owner);
    await removeAccount(client, owner);
    const rows = await rowsOf<{ email_digest: Uint8Array }>(database.db, sql`select * from carried_usage`);
    t.ok(rows.length > 0);
    t.notMatch(JSON.stringify(rows), owner.email.split('@')[0]);
  });
});
