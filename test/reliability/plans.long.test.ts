// Lists and cleanups read few buffers, however large the tables are: reliability test 76.
import { type SQL, type SQLWrapper, sql } from 'drizzle-orm';
import t, { type Test } from 'tap';
import { v7 as uuidv7 } from 'uuid';
import { type Db, openDatabase, rowsOf } from '../../src/database/client.ts';
import { jobs } from '../../src/jobs/maintenance.ts';
import { conversationsStatement, listMessages } from '../../src/store/conversations.ts';
import { listEvents } from '../../src/store/events.ts';
import { chargeDaysOf } from '../../src/store/purge.ts';
import { type LogFilter, type LogPosition, requestLogStatement } from '../../src/store/request-log.ts';
import { listKeyLabels } from '../../src/store/usage-history.ts';
import { fill, tablesOf } from '../support/fill.ts';
import { freshDatabase } from '../support/service.ts';

const BUFFERS_AT_MOST = 1000;
/** The planner's estimate. From 100,000, Postgres compiles statements (JIT), which takes longer than running them. */
const COST_AT_MOST = 5000;

const fresh = await freshDatabase('postgres');
const database = await openDatabase({ url: fresh.env.DATABASE_URL as string });
const { db } = database;
t.teardown(async () => {
  await database.close();
  await fresh.drop();
});

type Plan = { 'Shared Hit Blocks': number; 'Shared Read Blocks': number; 'Total Cost': number };

/** Runs a statement. Returns the number of buffers it read, and the planner's cost estimate. */
async function explain(statement: SQL): Promise<{ buffers: number; cost: number }> {
  const rows = await rowsOf<{ 'QUERY PLAN': string | { Plan: Plan }[] }>(
    db,
    sql`explain (analyze, buffers, format json) ${statement}`,
  );
  const told = rows[0]?.['QUERY PLAN'] ?? '[]';
  const [{ Plan: plan } = {}] = (typeof told === 'string' ? JSON.parse(told) : told) as { Plan?: Plan }[];
  if (plan === undefined) throw new Error('Postgres returned no plan.');
  return { buffers: plan['Shared Hit Blocks'] + plan['Shared Read Blocks'], cost: plan['Total Cost'] };
}

const buffersOf = async (statement: SQL): Promise<number> => (await explain(statement)).buffers;

const readsLittle = async (t: Test, what: string, statement: SQL) => {
  const buffers = await buffersOf(statement);
  t.ok(buffers < BUFFERS_AT_MOST, `${what}: ${buffers} buffers`);
};

const [hot, other, key, rareKey] = [uuidv7(), uuidv7(), uuidv7(), uuidv7()];
const conversation = uuidv7();
const ROWS = 1_000_000;

t.before(async () => {
  // A day with a million charges, 90% of them of one account. One key, one endpoint, and one status are rare and old.
  await db.execute(sql`
    insert into requests (account_id, day, id, key_id, endpoint, meter, units, state, process, admitted_at, settled_at, status)
    select case when n % 10 = 0 then ${other}::uuid else ${hot}::uuid end, ledger_day(ledger_now()),
           (lpad(to_hex((extract(epoch from at) * 1000)::bigint), 12, '0') || '70008' || lpad(to_hex(n), 15, '0'))::uuid,
           case when n between 11 and 40 then ${rareKey}::uuid when n % 3 = 0 then ${key}::uuid end,
           case when n between 41 and 70 then 'POST /api/v1/search' else 'POST /api/v1/chat' end, 'chat', 1, 'final',
           ${uuidv7()}::uuid, at, at, case when n < 10 then 404 when n % 500 = 1 then 502 else 200 end
    from generate_series(1, ${ROWS}::int) n,
         lateral (select ledger_day(ledger_now())::timestamp at time zone 'UTC' + n * interval '80 milliseconds' as at) a`);
  await db.execute(sql`
    insert into requests (account_id, day, id, endpoint, meter, units, state, process, admitted_at, settled_at, status)
    select account_id, day - 1, id, endpoint, meter, units, state, process, admitted_at - interval '1 day',
           settled_at - interval '1 day', status
    from requests where account_id = ${hot}::uuid limit 200000`);
  await db.execute(sql`
    insert into refusals (account_id, minute, key_id, code, status, count)
    select ${hot}::uuid, date_trunc('minute', ledger_now()) - n * interval '30 seconds', gen_random_uuid(), 'quotaExceeded',
           case when n > 99990 then 403 else 429 end, 1
    from generate_series(0, 100000) n`);
  await db.execute(sql`
    insert into conversations (account_id, id, key_id, title, created_at, updated_at)
    select ${hot}::uuid, gen_random_uuid(), case when n % 1000 = 0 then ${rareKey}::uuid when n % 2 = 0 then ${key}::uuid end, 'Hi',
           now(), now() - n * interval '1 second'
    from generate_series(1, 300000) n`);
  await db.execute(sql`
    insert into messages (account_id, conversation_id, id, position, role, content, created_at)
    select ${hot}::uuid, ${conversation}::uuid, gen_random_uuid(), n, case n % 2 when 1 then 'user' else 'assistant' end,
           repeat('x', 200), now()
    from generate_series(1, 50000) n`);
  for (const statement of [
    sql`insert into idempotency_keys (account_id, owner, key, fingerprint, request_id, day, process, created_at)
        select gen_random_uuid(), gen_random_uuid(), 'k', repeat('f', 64), gen_random_uuid(), current_date, gen_random_uuid(), now()
        from generate_series(1, 200000)`,
    sql`insert into sessions (account_id, id, digest, created_at, last_seen_at, address, user_agent)
        select gen_random_uuid(), gen_random_uuid(), decode(md5(n::text), 'hex'), now(), now(), '::1', 'x'
        from generate_series(1, 100000) n`,
    sql`insert into account_events (account_id, id, at, type)
        select ${hot}::uuid, gen_random_uuid(), now() - n * interval '1 second', 'signedIn' from generate_series(1, 200000) n`,
    sql`insert into api_keys (account_id, id, name, scopes, allowed_origins, public_id, created_at, revoked_at)
        select ${hot}::uuid, gen_random_uuid(), 'x', '{chat}', '{}', n::text, now() - interval '300 days',
               now() - interval '299 days'
        from generate_series(1, 100000) n`,
    sql`insert into key_secrets (public_id, account_id, key_id, digest, ends_at)
        select n::text, ${hot}::uuid, gen_random_uuid(), decode(md5(n::text), 'hex'), now() - interval '299 days'
        from generate_series(1, 100000) n`,
  ])
    await db.execute(statement);
  for (const table of await tablesOf(db)) {
    const [row] = await rowsOf<{ is_empty: boolean }>(
      db,
      sql`select not exists (select from ${sql.identifier(table)}) as is_empty`,
    );
    if (row?.is_empty) await fill(db, table, 200_000);
  }
  // In production, autovacuum does both.
  await db.execute(sql`vacuum analyze`);
});

/** A position in the middle of the hot account's day. */
async function middle(): Promise<LogPosition & { time: Date }> {
  const [row] = await rowsOf<LogPosition>(
    db,
    sql`select day::text, to_char(admitted_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as at, id from requests
        where account_id = ${hot}::uuid and status = 502 order by admitted_at offset 900 limit 1`,
  );
  if (row === undefined) throw new Error('The row does not exist.');
  return { ...row, time: new Date(row.at) };
}

t.test(
  '76: a page of the request log reads fewer than 1,000 buffers at 1 million charges a day',
  async (t) => {
    const { time, ...position } = await middle();
    const later = new Date(time.getTime() + 60_000);
    const pages: [string, string, LogFilter, LogPosition?][] = [
      ['the newest page', hot, {}],
      ['a smaller account', other, {}],
      ['a deep page', hot, {}, position],
      ['by id', hot, { id: position.id }],
      ['by an unknown id', hot, { id: '00000000-0000-4000-8000-000000000000' }],
      ['failures', hot, { statuses: { first: 500, last: 599 } }],
      ['failures, a deep page', hot, { statuses: { first: 500, last: 599 } }, position],
      ['a rare status', hot, { statuses: { first: 404, last: 404 } }],
      ['a rare status of refusals', hot, { statuses: { first: 403, last: 403 } }],
      ['successes', hot, { statuses: { first: 200, last: 299 } }],
      ['by key', hot, { keyId: key }],
      ['by a rare key', hot, { keyId: rareKey }],
      ['from the web', hot, { keyId: null }],
      ['failures, by a rare key', hot, { keyId: rareKey, statuses: { first: 500, last: 599 } }],
      ['by endpoint', hot, { endpoint: 'POST /api/v1/chat' }],
      ['by a rare endpoint', hot, { endpoint: 'POST /api/v1/search' }],
      ['by a rare endpoint, a smaller account', other, { endpoint: 'POST /api/v1/search' }],
      ['in a period', hot, { from: time, to: later }],
      ['in a period, by key', hot, { keyId: key, from: time, to: later }],
      ['by a model that was never used', hot, { model: 'none' }, position],
      ['before a time', hot, { to: time }],
      ['since a time', hot, { from: time }],
    ];
    for (const [what, account, filter, after] of pages) {
      const { buffers, cost } = await explain(requestLogStatement(account, 201, filter, after));
      t.ok(buffers < BUFFERS_AT_MOST, `${what}: ${buffers} buffers`);
      t.ok(cost < COST_AT_MOST, `${what}: a cost of ${Math.round(cost)}`);
    }
  },
);

t.test('76: a page of a list reads fewer than 1,000 buffers at 300,000 conversations', async (t) => {
  const [row] = await rowsOf<{ at: string; id: string }>(
    db,
    sql`select updated_at as at, id from conversations order by updated_at desc offset 290000 limit 1`,
  );
  const deep = { isPinned: false, at: new Date(row?.at ?? ''), id: row?.id ?? '' };
  const query = (list: unknown) => (list as SQLWrapper).getSQL();
  const owner = (keyId: string | null) => ({ accountId: hot, keyId });
  await readsLittle(t, 'conversations', query(conversationsStatement(db, owner(null), false, 101)));
  await readsLittle(
    t,
    'conversations, a deep page',
    query(conversationsStatement(db, owner(null), false, 101, deep)),
  );
  await readsLittle(t, 'pinned conversations', query(conversationsStatement(db, owner(null), true, 101)));
  await readsLittle(
    t,
    'conversations of the web chat',
    query(conversationsStatement(db, owner(null), false, 101, undefined, 'web')),
  );
  await readsLittle(t, 'conversations of a key', query(conversationsStatement(db, owner(key), false, 101)));
  await readsLittle(
    t,
    'conversations of a key, a deep page',
    query(conversationsStatement(db, owner(key), false, 101, deep)),
  );
  await readsLittle(
    t,
    'conversations of a rare key, a deep page',
    query(conversationsStatement(db, owner(rareKey), false, 101, deep)),
  );
  await readsLittle(t, 'messages', query(listMessages(db, hot, conversation, 101)));
  const [message] = await rowsOf<{ id: string }>(db, sql`select id from messages where position = 25000`);
  await readsLittle(t, 'messages, a deep page', query(listMessages(db, hot, conversation, 101, message?.id)));
  const at = new Date(Date.now() - 150_000_000).toISOString();
  await readsLittle(t, 'events', query(listEvents(db, hot, 201)));
  await readsLittle(t, 'events, a deep page', query(listEvents(db, hot, 201, { at, id: uuidv7() })));
});

/** A database that explains each statement before running it. */
function explaining(into: { buffers: number }[]): Db {
  return {
    execute: async (statement: SQL) => {
      into.push({ buffers: await buffersOf(statement) });
      return db.execute(statement);
    },
  } as unknown as Db;
}

t.test('76: finding the days with charges of a deleted account reads fewer than 1,000 buffers', async (t) => {
  t.ok((await buffersOf(chargeDaysOf(hot))) < BUFFERS_AT_MOST);
});

t.test('76: an idle background job reads fewer than 1,000 buffers per statement', async (t) => {
  const context = { kind: 'postgres', daysKept: 90, signal: new AbortController().signal } as const;
  const reads: [string, (db: Db) => Promise<unknown>][] = [
    ...Object.entries(jobs).map(([name, job]): [string, (of: Db) => Promise<unknown>] => [
      name,
      (of) => job(of, context),
    ]),
    ['key names for the usage history', (of) => listKeyLabels(of, hot, 30)],
  ];
  for (const [what, read] of reads) {
    const explained: { buffers: number }[] = [];
    await read(explaining(explained));
    t.ok(explained.length > 0, what);
    for (const { buffers } of explained) t.ok(buffers < BUFFERS_AT_MOST, `${what}: ${buffers} buffers`);
  }
});
