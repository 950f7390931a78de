// Reliability test 55: an account is deleted under load, with three processes on one Postgres.
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
import { eventually } from '../support/upstream/engine.ts';

// Streams last five seconds, longer than the deletion and the purge.
const upstream = await startUpstream({ chunks: 50, chunkIntervalMs: 100 });
t.teardown(() => upstream.stop());
const { client, databaseUrl, replicas } = await startCluster(t, {
  count: 3,
  env: { ...plansFile(t, {}), CHAT_URL: upstream.url, STREAMS_PER_ACCOUNT: '1000' },
});
const clients = replicas.map((replica) => replica.client);
const { close, db } = await openDatabase({ url: databaseUrl });
t.teardown(close);

/** The number of rows that an account has in each table, without tables that have none. */
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
// Enough rows that removing them in one statement would be noticed.
await db.execute(sql`
  insert into messages (account_id, conversation_id, id, role, content, created_at)
  select ${accountId}::uuid, ${conversation.conversation_id}::uuid, gen_random_uuid(), 'user', repeat('x', 500), now()
  from generate_series(1, 30000)`);

/** The durations and statuses of another account's requests. */
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
    // A session may send 300 requests a minute to each process.
    await sleep(60);
  }
});

/** Everything an owner can do, sent to every replica at the time of the deletion. */
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
const chats = async () => (await upstream.calls()).chat;
const earlier = await chats();
const streams = clients.map((one, n) =>
  one.post('/chat', { message: 'Long', stream: true }, { key: keys[n]?.key ?? '' }),
);
await eventually('the streams have started', async () => (await chats()) === earlier + streams.length);
const writes = clients.flatMap(writesOn);
await eventually('the writes are in flight', async () => (await chats()) > earlier + streams.length);
const deletion = await client.delete('/account', {
  body: { current_password: password },
  cookie: owner.cookie,
});
const deletedAt = performance.now();
const sinceDeletion = () => performance.now() - deletedAt;

t.test('every replica refuses the sessions and keys of a deleted account within a second', async (t) => {
  t.equal(deletion.status, 204);
  /** When a credential was last accepted. */
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
  t.ok(latest < 1000, `the last credential was accepted ${latest.toFixed(0)} ms after the deletion`);
  t.equal((await client.post('/auth/login', { email, password })).status, 401);
});

t.test(
  "a deleted account's data is purged while its requests are in flight, and they do not recreate any",
  async (t) => {
    t.ok(((await rowsOfAccount(accountId)).messages ?? 0) > 29_000);
    t.ok((await upstream.calls()).open > 0, 'the engine is still streaming');
    await deletedFor(accountId, '2 minutes');
    await Promise.all([purgeDeletedAccounts(db), purgeDeletedAccounts(db)]);
    const ends = await Promise.all([...streams, ...writes]);
    t.comment('final statuses:', ends.map(({ status }) => status).join());
    t.notOk(
      ends.some(({ status }) => status === 500),
      'no request ended with an internal error',
    );
    t.ok(
      streams.length === 3 && ends.slice(0, 3).every(({ status }) => status === 200),
      'open streams continue',
    );
    // Each process writes its refusals together once a second, so those of the deleted account precede these.
    const narrow = await client.createKey(bystander, { scopes: ['models'] });
    for (const one of clients) await one.post('/search', { query: 'key' }, { key: narrow.key });
    await eventually('every process has written its refusals', async () => {
      const refusals = sql`select sum(count)::int as count from refusals where key_id = ${narrow.id}::uuid`;
      return (await rowsOf<{ count: number }>(db, refusals))[0]?.count === clients.length;
    });
    await purgeDeletedAccounts(db);
    t.same(await rowsOfAccount(accountId), {});
    // Processes write collected rows once a second, so a late one would arrive in this time.
    await sleep(1500);
    t.same(await rowsOfAccount(accountId), {}, 'no rows are added later');
    await deletedFor(accountId, '11 minutes');
    await purgeDeletedAccounts(db);
    t.same(await rowsOf(db, sql`select 1 from accounts where id = ${accountId}::uuid`), []);
    t.same(await differences(databaseUrl), [], 'the audit is clean');
  },
);

t.test('the deletion does not block other accounts, and the email address can sign up again', async (t) => {
  isOver = true;
  await Promise.all(load);
  t.same([...endings], [200]);
  const sorted = waits.toSorted((a, b) => a - b);
  const [median = 0, slowest = 0] = [sorted[Math.floor(sorted.length / 2)], sorted.at(-1)];
  t.comment(`${waits.length} requests, median ${median.toFixed(0)} ms, slowest ${slowest.toFixed(0)} ms`);
  t.ok(waits.length > 20 && slowest < 30_000, `the slowest request took ${slowest.toFixed(0)} ms`);
  const again: Body = await client.post('/auth/signup', { email, password });
  t.equal(again.status, 201);
  t.not(again.body.id, accountId);
});
