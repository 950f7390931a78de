// Three processes that share one Postgres never exceed a limit together: reliability tests 23, 24, 25, and 28.
import postgres from 'postgres';
import t from 'tap';
import { type Caller, History } from '../support/history.ts';
import type { Client } from '../support/http.ts';
import { startCluster } from '../support/replicas.ts';
import { plansFile } from '../support/service.ts';
import { startUpstream } from '../support/upstream/client.ts';

const CEILING = 50;

/** One account's callers: three keys and the web. */
async function callersOf(client: Client): Promise<{ callers: Caller[]; cookie: string; accountId: string }> {
  const owner = await client.signUp();
  const { accountId, cookie } = owner;
  const keys = [await client.createKey(owner), await client.createKey(owner), await client.createKey(owner)];
  return {
    callers: [...keys.map(({ key }) => ({ accountId, key })), { accountId, cookie }],
    cookie,
    accountId,
  };
}

const upstream = await startUpstream();
t.teardown(() => upstream.stop());
const { client, databaseUrl, replicas } = await startCluster(t, {
  count: 3,
  env: { ...plansFile(t, { chat: CEILING }), CHAT_URL: upstream.url },
});

// Simulates a slow disk: the other replicas have time to decide between the decision about a charge and its commit.
const slow = postgres(databaseUrl, { max: 1, onnotice: () => {} });
await slow.unsafe(`
  create function slow() returns trigger language plpgsql as $$ begin perform pg_sleep(0.03); return null; end $$;
  create trigger slow after update on usage_counters execute function slow();`);
await slow.end();

t.test(
  '23: of 600 concurrent requests across three replicas, keys, and the web, exactly the quota is served',
  async (t) => {
    const { callers, cookie } = await callersOf(client);
    const history = new History();
    await Promise.all(
      Array.from({ length: 600 }, (_, n) =>
        history.chat(replicas[n % 3]?.origin as string, callers[n % callers.length] as Caller),
      ),
    );
    t.same(history.summary(), { 200: CEILING, quotaExceeded: 600 - CEILING });
    const wasted = (await upstream.calls()).chat - CEILING;
    // Far from the limit, a replica calls the engine before the ledger admits, for up to 1/16 of the remaining quota.
    t.ok(
      wasted <= 3 * Math.floor(CEILING / 16),
      `the engine was called for ${wasted} requests beyond the quota`,
    );
    t.match(await history.check(databaseUrl, { ceiling: CEILING }), {
      faults: [],
      delivered: CEILING,
      refused: 600 - CEILING,
      failed: 0,
      final: CEILING,
      refunded: wasted,
    });
    t.equal((await client.get('/usage', { cookie })).body.used.chat, CEILING);

    for (const { headers, status } of history.seen) {
      const field = (name: string) => Number(headers?.get(`ratelimit-${name}`));
      if (!(field('remaining') >= 0 && field('remaining') < CEILING))
        t.fail(`Remaining ${field('remaining')}`);
      const midnight = 86_400 - ((Date.now() / 1000) % 86_400);
      if (Math.abs(field('reset') - midnight) > 60) t.fail(`Reset ${field('reset')}`);
      if (status === 429 && !(Number(headers?.get('retry-after')) >= field('reset'))) t.fail('Retry-After');
    }
  },
);

t.test('24: concurrent first requests of the day on ten new accounts are all counted', async (t) => {
  const owners: Caller[] = [];
  for (let n = 0; n < 10; n += 1) owners.push(await client.signUp());
  const history = new History();
  await Promise.all(
    Array.from({ length: 600 }, (_, n) =>
      history.chat(replicas[n % 3]?.origin as string, { ...(owners[n % 10] as Caller) }),
    ),
  );
  t.match(await history.check(databaseUrl, { ceiling: CEILING }), {
    faults: [],
    delivered: 10 * CEILING,
    refused: 600 - 10 * CEILING,
  });
  for (const { accountId } of owners)
    t.equal(history.delivered().filter((one) => one.accountId === accountId).length, CEILING);
});

t.test('25: while the plan changes under load, no charge exceeds the limit in force', async (t) => {
  const { accountId, callers } = await callersOf(client);
  const sql = postgres(databaseUrl, { max: 2, onnotice: () => {} });
  t.teardown(() => sql.end());
  const history = new History();
  const readings: number[] = [];
  const send = (count: number) =>
    Promise.all(
      Array.from({ length: count }, (_, n) =>
        history.chat(replicas[n % 3]?.origin as string, callers[n % callers.length] as Caller),
      ),
    );
  const change = (plan: string) => sql`update accounts set plan = ${plan} where id = ${accountId}`;
  const used = async () => {
    const [row] = await sql<
      { used: number }[]
    >`select used::int from usage_counters where account_id = ${accountId} and meter = 'chat'`;
    readings.push(row?.used ?? 0);
    return row?.used ?? 0;
  };

  await change('large');
  const first = send(400);
  while ((await used()) < 80);
  // From this commit on, the limit of the lower plan applies to every admission.
  await change('small');
  const after = performance.now();
  await first;
  const lowered = await used();
  t.ok(lowered >= 80, 'a lower limit does not reduce recorded usage');
  await send(60);
  t.equal(await used(), lowered, 'nothing is admitted beyond the lowered limit');
  const late = history.seen.filter(({ sentAt, status }) => sentAt > after && status === 200);
  t.same(late, []);
  await change('large');
  await send(30);
  t.equal(await used(), lowered + 30);
  t.same(
    readings,
    readings.toSorted((one, other) => one - other),
    'recorded usage never decreases',
  );
  t.match(await history.check(databaseUrl), { faults: [], delivered: lowered + 30, final: lowered + 30 });
});

t.test('25: of a hundred accounts, a locked one and a deleted one do not affect the others', async (t) => {
  const owners: Caller[] = [];
  for (let n = 0; n < 20; n += 1)
    owners.push(...(await Promise.all(Array.from({ length: 5 }, () => client.signUp()))));
  const [locked, gone, ...others] = owners as [Caller, Caller, ...Caller[]];
  const history = new History();
  const sql = postgres(databaseUrl, { max: 2, onnotice: () => {} });
  t.teardown(() => sql.end());
  await history.chat(client.origin, locked);
  // Batches the requests of all accounts with those of the locked account.
  const senders = [gone, ...others].flatMap((owner, n) => (n % 5 === 4 ? [owner, locked] : [owner]));
  const seen = await sql.begin(async (tx) => {
    await tx`select from usage_counters where account_id = ${locked.accountId} for update`;
    await sql`update accounts set deleted_at = now() where id = ${gone.accountId}`;
    return Promise.all(senders.map((owner, n) => history.chat(replicas[n % 3]?.origin as string, owner)));
  });
  const took = seen.filter(({ accountId }) => others.some((one) => one.accountId === accountId));
  t.ok(
    took.every(({ status }) => status === 200),
    'the other 98 are served',
  );
  const times = took.map(({ endedAt, sentAt }) => Math.round(endedAt - sentAt)).sort((a, b) => a - b);
  const [median = 0, slowest = 0] = [times[Math.floor(times.length / 2)], times.at(-1)];
  // A request that waits for the locked account waits for two seconds.
  t.ok(median < 2000 && slowest < 20_000, `median ${median} ms, slowest ${slowest} ms`);
  for (const { accountId, code, headers, status } of seen) {
    if (accountId === locked.accountId) {
      t.match({ code, status }, { status: 503, code: 'serviceUnavailable' });
      t.ok(Number(headers?.get('retry-after')) > 0);
    } else if (accountId === gone.accountId) t.equal(status, 401);
  }
  t.match(await history.check(databaseUrl, { ceiling: CEILING }), { faults: [], delivered: 99 });
});

t.test('28: replicas with different clocks and time zones all use the day of the database', async (t) => {
  const { client, databaseUrl, replicas } = await startCluster(t, {
    count: 3,
    env: plansFile(t, { chat: CEILING }),
    envs: [
      { CLOCK_SKEW_MS: '5000', TZ: 'Asia/Tokyo' },
      { CLOCK_SKEW_MS: '-5000', TZ: 'America/New_York' },
      {},
    ],
  });
  const sql = postgres(databaseUrl, { max: 1, onnotice: () => {} });
  t.teardown(() => sql.end());
  // Two seconds after midnight by the database clock. By its own clock, one replica is still in the previous day.
  await sql.unsafe(`create or replace function ledger_now() returns timestamptz language sql volatile as
    $$ select date_trunc('day', now() at time zone 'UTC') at time zone 'UTC' + interval '1 day 2 seconds' $$`);
  const [today] = await sql<{ day: string }[]>`select ledger_day(ledger_now())::text as day`;
  const { callers } = await callersOf(client);
  const history = new History();
  await Promise.all(
    Array.from({ length: 200 }, (_, n) =>
      history.chat(replicas[n % 3]?.origin as string, callers[n % callers.length] as Caller),
    ),
  );
  t.match(await history.check(databaseUrl, { ceiling: CEILING }), { faults: [], delivered: CEILING });
  t.same(await sql`select distinct day::text from requests`, [{ day: today?.day }]);
  for (const { headers } of history.seen) t.equal(headers?.get('ratelimit-reset'), '86398');
});
