// Reliability test 55: an account is deleted under load, on three processes and one Postgres.
import { setTimeout as sleep } from 'node:timers/promises';
import { sql } from 'drizzle-orm';
import t from 'tap';
import { openDatabase, rowsOf } from '../../src/database/client.ts';
import { purgeDeletedAccounts } from '../../src/store/purge.ts';
import { cookieOf } from '../support/dashboard.ts';
import type { Answer, Body, Client } from '../support/http.ts';
import { differences } from '../support/ledger-state.ts';
import { startCluster } from '../support/replicas.ts';
import { plansFile } from '../support/service.ts';
import { startUpstream } from '../support/upstream/client.ts';

// Streams of five seconds, which outlive the deletion and the purge.
const upstream = await startUpstream({ chunks: 50, chunkIntervalMs: 100 });
t.teardown(() => upstream.stop());
const { client, databaseUrl, replicas } = await startCluster(t, {
  count: 3,
  env: { ...plansFile(t, {}), CHAT_URL: upstream.url, STREAMS_PER_ACCOUNT: '1000' },
});
const clients = replicas.map((replica) => replica.client);
const { close, db } = await openDatabase({ url: databaseUrl });
t.teardown(close);

/** How many rows of an account each table has; tables without any are left out. */
async function rowsOfAccount(accountId: string): Promise<Record<string, number>> {
  const tables = await rowsOf<{ name: string }>(
    db,
    sql`select c.relname as name from pg_class c
        join pg_attribute a on a.attrelid = c.oid and a.attname = 'account_id' and not a.attisdropped
        where c.relkind in ('r', 'p') and not c.relispartition and c.relnamespace = 'public'::regnamespace`,
  );
  const found: Record<string, number> = {};
  for (const { name } of tables) {
    const [row] = await rowsOf<{ count: number }>(
      db,
      sql`select count(*)::int as count from ${sql.identifier(name)} where account_id = ${accountId}::uuid`,
    );
    if (row !== undefined && row.count > 0) found[name] = row.count;
  }
  return found;
}

const deletedFor = (accountId: string, ago: string) =>
  db.execute(sql`update accounts set deleted_at = now() - ${ago}::interval where id = ${accountId}::uuid`);

const owner = await client.signUp();
const { accountId, email, password } = owner;
const cookies = await Promise.all(
  clients.map(async (one) => cookieOf(await one.post('/auth/login', { email, password }))),
);
const keys = await Promise.all(clients.map((one) => one.createKey(owner)));
const conversation = (await client.post('/chat', { message: 'Hello' }, { cookie: owner.cookie })).body;
// So much that nobody could remove it in one statement unnoticed.
await db.execute(sql`
  insert into messages (account_id, conversation_id, id, role, content, created_at)
  select ${accountId}::uuid, ${conversation.conversation_id}::uuid, gen_random_uuid(), 'user', repeat('x', 500), now()
  from generate_series(1, 30000)`);

/** Another account's requests: how long each took, and how it ended. */
const bystander = await client.signUp();
const bystanderKey = (await client.createKey(bystander)).key;
const waits: number[] = [];
const endings = new Set<number>();
let isOver = false;
const load = clients.map(async (one) => {
  for (let n = 0; !isOver; n += 1) {
    const startedAt = performance.now();
    const calls: (() => Promise<Answer>)[] = [
      () => one.get('/usage', { key: bystanderKey }),
      () => one.get('/sessions', { cookie: bystander.cookie }),
      () => one.get('/keys', { cookie: bystander.cookie }),
      () =>
        one.put('/subscription', { plan: 'large', billing_period: n % 2 ? 'monthly' : 'yearly' }, bystander),
    ];
    endings.add((await calls[n % calls.length]?.())?.status ?? 0);
    waits.push(performance.now() - startedAt);
    // A session has 300 requests a minute in each process.
    await new Promise((resolve) => setTimeout(resolve, 60));
  }
});

/** Whatever an owner can do, begun by every replica at the moment of the deletion. */
const writesOn = (one: Client, n: number): Promise<Answer>[] => {
  const session = { cookie: cookies[n] ?? '' };
  const key = { key: keys[n]?.key ?? '' };
  return [
    one.post('/chat', { message: 'A new one' }, key),
    one.post('/chat', { message: 'A new one', stream: true }, session),
    one.post('/chat', { message: 'Go on', conversation_id: conversation.conversation_id }, session),
    one.post('/search', { query: 'key' }, key),
    one.post('/keys', { name: 'Late', scopes: ['chat'] }, session),
    one.post('/auth/login', { email, password }),
    one.post('/auth/login', { email, password: 'wrong password' }),
    one.patch('/account', { email: `late-${n}-${email}`, current_password: 'wrong password' }, session),
    one.put('/subscription', { plan: 'large', billing_period: 'yearly' }, session),
    one.delete(`/conversations/${conversation.conversation_id}`, key),
  ];
};
const streams = clients.map((one, n) =>
  one.post('/chat', { message: 'Long', stream: true }, { key: keys[n]?.key ?? '' }),
);
await sleep(1000);
const writes = clients.flatMap(writesOn);
await sleep(20);
const deletion = await client.delete('/account', {
  body: { current_password: password },
  cookie: owner.cookie,
});
const deletedAt = performance.now();
const sinceDeletion = () => performance.now() - deletedAt;

t.test('sessions and keys are dead on every replica within a second', async (t) => {
  t.equal(deletion.status, 204);
  /** When a credential was last taken. */
  const lastTaken = async (ask: () => Promise<Answer>, refusal: string) => {
    let last = 0;
    do {
      const sentAt = sinceDeletion();
      const answer = await ask();
      if (answer.status < 400) last = sentAt;
      else t.match(answer, { status: 401, body: { error: { code: refusal } } });
      await sleep(25);
    } while (sinceDeletion() < 1500);
    return last;
  };
  const all = clients.flatMap((one) => [
    ...[owner.cookie, ...cookies].map((cookie) =>
      lastTaken(() => one.get('/account', { cookie }), 'sessionRequired'),
    ),
    ...[owner.cookie, ...cookies].map((cookie) =>
      lastTaken(() => one.get('/usage', { cookie }), 'missingCredentials'),
    ),
    ...keys.map(({ key }) => lastTaken(() => one.get('/models', { key }), 'apiKeyRevoked')),
  ]);
  const latest = Math.max(...(await Promise.all(all)));
  t.ok(latest < 1000, `the last was taken ${latest.toFixed(0)} ms after the deletion`);
  t.equal((await client.post('/auth/login', { email, password })).status, 401);
});

t.test('its data goes while requests of it are under way, and these recreate nothing', async (t) => {
  t.ok(((await rowsOfAccount(accountId)).messages ?? 0) > 29_000);
  t.ok((await upstream.calls()).open > 0, 'the engine still writes');
  await deletedFor(accountId, '2 minutes');
  await Promise.all([purgeDeletedAccounts(db), purgeDeletedAccounts(db)]);
  const ends = await Promise.all([...streams, ...writes]);
  t.comment('how they ended:', ends.map(({ status }) => status).join());
  t.notOk(
    ends.some(({ status }) => status === 500),
    'and none of them by an error of ours',
  );
  t.ok(
    streams.length === 3 && ends.slice(0, 3).every(({ status }) => status === 200),
    'streams that were open run on',
  );
  // Refusals are written down once a second.
  await sleep(2500);
  await purgeDeletedAccounts(db);
  t.same(await rowsOfAccount(accountId), {});
  await sleep(1500);
  t.same(await rowsOfAccount(accountId), {}, 'and nothing comes any more');
  await deletedFor(accountId, '11 minutes');
  await purgeDeletedAccounts(db);
  t.same(await rowsOf(db, sql`select 1 from accounts where id = ${accountId}::uuid`), []);
  t.same(await differences(databaseUrl), [], 'the audit is clean');
});

t.test('no other account waited for it, and the address is free', async (t) => {
  isOver = true;
  await Promise.all(load);
  t.same([...endings], [200]);
  const sorted = waits.toSorted((a, b) => a - b);
  const [median = 0, slowest = 0] = [sorted[Math.floor(sorted.length / 2)], sorted.at(-1)];
  t.comment(
    `${waits.length} requests, half within ${median.toFixed(0)} ms, the slowest ${slowest.toFixed(0)} ms`,
  );
  t.ok(waits.length > 20 && slowest < 30_000, `the slowest took ${slowest.toFixed(0)} ms`);
  const again: Body = await client.post('/auth/signup', { email, password });
  t.equal(again.status, 201);
  t.not(again.body.id, accountId);
});
