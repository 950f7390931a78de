// The statements of a request read and lock only rows of its account: docs/decisions/0031-beyond-one-postgres.md.
import { sql } from 'drizzle-orm';
import t from 'tap';
import { openDatabase, rowsOf } from '../../src/database/client.ts';
import { migrate } from '../../src/database/migrate.ts';
import { audit } from '../../src/store/ledger-audit.ts';
import { readOverview } from '../../src/store/overview.ts';
import { fill, tablesOf } from '../support/fill.ts';
import { startCluster } from '../support/replicas.ts';
import { plansFile } from '../support/service.ts';
import { startLoggingPostgres } from '../support/statement-log.ts';
import { surfaces } from '../support/surfaces.ts';
import { startUpstream } from '../support/upstream/client.ts';

/** Tables that are not keyed by account, and why they can be on one node or on every node. */
const others: Record<string, string> = {
  accounts: 'one row per account, keyed by its ID',
  key_secrets: 'one row per secret, found by the public part of a key, which does not identify the account',
  carried_usage: 'one row per account deleted today, found by a digest of the email address',
  operator_log: 'actions of operators, kept for a year',
  leases: 'one row per process',
  passages: 'the operator’s documents for the built-in search',
  settings: 'a few rows',
};

type Plan = {
  'Node Type': string;
  'Relation Name'?: string;
  'Index Cond'?: string;
  'Recheck Cond'?: string;
  Filter?: string;
  Plans?: Plan[];
};
type Planned = { 'Query Text': string; Plan: Plan };

const log = await startLoggingPostgres({
  shared_preload_libraries: 'auto_explain',
  log_statement: 'none',
  'auto_explain.log_min_duration': '0',
  'auto_explain.log_nested_statements': 'on',
  'auto_explain.log_format': 'json',
});
t.teardown(() => log.server.drop());
const url = log.server.url();
const database = await openDatabase({ url });
t.teardown(() => database.close());
await migrate(database, url);
const { db } = database;
const upstream = await startUpstream();
t.teardown(() => upstream.stop());
const { client } = await startCluster(t, {
  ...{ count: 1, databaseUrl: url },
  env: { ...plansFile(t, { search: 3 }), CHAT_URL: upstream.url },
});

/** Sends requests with every kind of charge: stored, streamed, retried, replayed, refunded, and refused. */
async function ask(key: string, cookie: string): Promise<number[]> {
  const statuses: number[] = [];
  const post = async (path: string, body: object, headers: Record<string, string> = {}) => {
    const answer = await client.post(path, body, { key, headers });
    statuses.push(answer.status);
    return answer;
  };
  const first = await client.post('/chat', { message: 'Hi' }, { cookie });
  const { conversation_id } = first.body;
  statuses.push(first.status);
  statuses.push((await client.post('/chat', { message: 'Hi', conversation_id }, { cookie })).status);
  const stored = await post('/responses', { input: 'Hi', store: true });
  await post('/responses', { input: 'Hi', store: true, previous_response_id: stored.body.id });
  for (const { body, path } of surfaces)
    for (const stream of [true, false]) {
      await post(path, body('Hi', { stream }));
      const retry = { 'idempotency-key': crypto.randomUUID() };
      await post(path, body('Hi', { stream }), retry);
      await post(path, body('Hi', { stream }), retry);
    }
  await post('/embeddings', { input: ['One', 'Two'] });
  await post('/images/generations', { prompt: 'A lighthouse' });
  for (let n = 0; n < 5; n += 1) await post('/search', { query: 'Hi' });
  await upstream.configure({ fault: 'status', status: 500 });
  await post('/chat/completions', { messages: [{ role: 'user', content: 'Hi' }] });
  await post('/chat', { message: 'Hi' }, { 'idempotency-key': crypto.randomUUID() });
  await upstream.reset();
  for (const path of ['/models', '/usage']) statuses.push((await client.get(path, { key })).status);
  return statuses;
}

const owner = await client.signUp();
const { key } = await client.createKey(owner);
const neighbor = await client.signUp();
const keyed = await tablesOf(db, 'account_id');

t.test('the primary key of every table that grows with requests begins with the account', async (t) => {
  const rows = await rowsOf<{ table: string; first: string }>(
    db,
    sql`select c.relname as "table", a.attname as first from pg_index i
        join pg_class c on c.oid = i.indrelid
        join pg_attribute a on a.attrelid = c.oid and a.attnum = i.indkey[0]
        where i.indisprimary and not c.relispartition and c.relnamespace = 'public'::regnamespace`,
  );
  const notKeyed = rows.filter(({ first }) => first !== 'account_id').map(({ table }) => table);
  t.same(notKeyed.sort(), Object.keys(others).sort());
  t.same(rows.length, (await tablesOf(db)).length, 'every table has a primary key');
});

/** Statements of background work, which no request waits for. */
const background = [
  { what: 'looks for streams to stop', pattern: /from "stop_requests"/ },
  { what: 'looks for messages to send', pattern: /from webhook_messages where due_at/ },
  { what: 'looks for daily limits to report', pattern: /cross join webhooks w/ },
];

const isKeyed = (relation: string) => keyed.includes(relation) || /^requests_\d{8}$/.test(relation);

/** Whether the condition selects by account, or by a secret that belongs to one account. */
const isOfOneAccount = (relation: string, condition: string): boolean => {
  const secrets: Record<string, string> = { accounts: 'id', key_secrets: 'public_id', sessions: 'digest' };
  return ['account_id', secrets[relation]].some((column) => condition.includes(`(${column} = `));
};

/** The tables that a plan reads, each with its index condition. */
function* scans(plan: Plan): Generator<{ relation: string; condition: string }> {
  const { 'Node Type': type, Plans: inner = [], 'Relation Name': relation } = plan;
  if (relation !== undefined && type !== 'ModifyTable')
    yield { relation, condition: plan['Index Cond'] ?? plan['Recheck Cond'] ?? `none: ${type}` };
  for (const part of inner) yield* scans(part);
}

const plansIn = (text: string): Planned[] =>
  [...text.matchAll(/\|LOG: {2}duration: [\d.]+ ms {2}plan:\n((?:\t.*\n)+)/g)].map(([, json = '']) =>
    JSON.parse(json),
  );

/** Fills every table with rows of 20,000 other accounts, and the usage counters with ten of their days. */
async function addOthers(): Promise<void> {
  for (const table of await tablesOf(db))
    if (!/^(settings|leases|webhooks|webhook_messages|usage_counters)$/.test(table))
      await fill(db, table, 20_000);
  await db.execute(sql`update accounts set deleted_at = null, suspended_at = null`);
  await db.execute(sql`
    insert into usage_counters (account_id, day, meter, used)
    select id, ledger_day(ledger_now()) - n, 'chat', 0 from accounts, generate_series(0, 9) as n
    where id <> ${owner.accountId} on conflict do nothing`);
  await db.execute(sql`
    insert into requests (account_id, day, id, endpoint, meter, units, state, process, admitted_at)
    select account_id, day - 1, id, endpoint, meter, units, state, process, admitted_at from requests
    where day = ledger_day(ledger_now()) and account_id <> ${owner.accountId}`);
  await db.execute(sql`analyze`);
}

t.test('every statement of a request searches its tables by account', async (t) => {
  await addOthers();
  const since = log.mark();
  const statuses = await ask(key, owner.cookie);
  t.same(new Set(statuses), new Set([200, 429, 502]));
  const planned = plansIn(since.text());
  const wrong = new Set<string>();
  const searched = new Set<string>();
  for (const { Plan: plan, 'Query Text': text } of planned) {
    const statement = text.replace(/\s+/g, ' ').trim();
    if (background.some(({ pattern }) => pattern.test(statement))) continue;
    for (const { condition, relation } of scans(plan)) {
      if (relation !== 'accounts' && !isKeyed(relation)) continue;
      searched.add(relation.replace(/_\d{8}$/, ''));
      if (!isOfOneAccount(relation, condition))
        wrong.add(`${relation}, ${condition}: ${statement.slice(0, 160)}`);
    }
  }
  t.same([...wrong], []);
  for (const table of [
    'api_keys',
    'conversations',
    'idempotency_keys',
    'messages',
    'requests',
    'usage_counters',
  ])
    t.ok(searched.has(table), `${table} was searched`);
});

t.test('the overview for operators searches its tables by time', async (t) => {
  const since = log.mark();
  await readOverview(db);
  const read = plansIn(since.text()).flatMap(({ Plan: plan }) => [...scans(plan)]);
  for (const [table, column] of [
    ['usage_counters', 'day'],
    ['upstream_costs', 'day'],
    ['refusals', 'minute'],
  ]) {
    const conditions = read.filter(({ relation }) => relation === table).map(({ condition }) => condition);
    t.not(conditions.length, 0, `${table} was read`);
    for (const condition of conditions)
      t.match(condition, new RegExp(`\\b${column}\\b`), `${table} is searched by ${column}`);
  }
});

t.test(
  'a request never waits for locks on rows of another account, even while that account sends requests',
  async (t) => {
    let statuses: number[] = [];
    let isOver = false;
    const ofNeighbor: number[] = [];
    const sendOfNeighbor = async () => {
      do ofNeighbor.push((await client.post('/chat', { message: 'Hi' }, { cookie: neighbor.cookie })).status);
      while (!isOver);
    };
    isOver = true;
    await sendOfNeighbor();
    isOver = false;
    const startedAt = performance.now();
    await ask(key, owner.cookie);
    const free = performance.now() - startedAt;
    await db.transaction(async (tx) => {
      for (const table of keyed)
        await tx.execute(sql.raw(`select from ${table} where account_id <> '${owner.accountId}' for update`));
      await tx.execute(sql`select from accounts where id <> ${owner.accountId} for update`);
      const from = performance.now();
      const neighbors = Promise.all([sendOfNeighbor(), sendOfNeighbor()]);
      statuses = await ask(key, owner.cookie);
      isOver = true;
      await neighbors;
      t.comment(`${Math.round(performance.now() - from)} ms, without locks ${Math.round(free)} ms`);
    });
    t.same(new Set(statuses), new Set([200, 429, 502]));
    t.same(new Set(ofNeighbor), new Set([200, 503]), 'only the neighbor is blocked');
    t.same(
      (await audit(db)).differences.filter(({ accountId }) => accountId === owner.accountId),
      [],
    );
  },
);
