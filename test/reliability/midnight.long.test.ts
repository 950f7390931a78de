// A burst on three processes across midnight, and streams across midnight: reliability tests 27 and 29.
import { setTimeout as sleep } from 'node:timers/promises';
import postgres, { type Sql } from 'postgres';
import t from 'tap';
import { type Caller, History, load } from '../support/history.ts';
import { startCluster } from '../support/replicas.ts';
import { plansFile } from '../support/service.ts';
import { startUpstream } from '../support/upstream/client.ts';

const CEILING = 30;
/** Long enough for a loaded machine to use up the quota of the first day. */
const BEFORE_MS = 7000;

/** Sets the database clock so that midnight is in `BEFORE_MS`. Returns that time on the `performance.now()` clock. */
async function bringMidnight(sql: Sql): Promise<number> {
  const untilMidnightMs = 86_400_000 - (Date.now() % 86_400_000);
  await sql.unsafe(`create or replace function ledger_now() returns timestamptz language sql volatile as
    $$ select clock_timestamp() + interval '${untilMidnightMs - BEFORE_MS} ms' $$`);
  return performance.now() + BEFORE_MS;
}

t.test(
  '27: a burst across midnight counts each request on one day, and serves exactly the quota on each day',
  async (t) => {
    const { client, databaseUrl, replicas } = await startCluster(t, {
      count: 3,
      env: plansFile(t, { chat: CEILING }),
    });
    const limited: Caller = await client.signUp();
    const unlimited: Caller = await client.signUp();
    const sql = postgres(databaseUrl, { max: 1, onnotice: () => {} });
    t.teardown(() => sql.end());
    await sql`update accounts set plan = 'large' where id = ${unlimited.accountId}`;
    const midnightAt = await bringMidnight(sql);

    const history = new History();
    await load(history, {
      callers: [limited, unlimited],
      concurrency: 64,
      origins: replicas.map(({ origin }) => origin),
      until: () => performance.now() > midnightAt + 5000,
    });

    const perDay = (accountId: string) => sql<{ day: string; units: number }[]>`
    select day::text, sum(units)::int as units from requests
    where account_id = ${accountId} and state = 'final' group by 1 order by 1`;
    const days = await perDay(limited.accountId);
    t.same(
      days.map(({ units }) => units),
      [CEILING, CEILING],
    );
    t.equal((await perDay(unlimited.accountId)).length, 2);
    t.match(await history.check(databaseUrl), { faults: [], failed: 0 });
    // The reset is never too early: a client that waits until then gets the quota of the new day.
    const early = history.seen
      .filter(({ headers }) => headers?.has('ratelimit-reset'))
      .map(
        ({ endedAt, headers }) => endedAt + Number(headers?.get('ratelimit-reset') ?? 0) * 1000 - midnightAt,
      )
      .filter((ms) => ms < -50);
    t.same(early, []);
  },
);

t.test('29: streams across midnight settle or are refunded on the day of their admission', async (t) => {
  const upstream = await startUpstream();
  t.teardown(() => upstream.stop());
  const { client, databaseUrl } = await startCluster(t, {
    count: 1,
    env: { ...plansFile(t, { chat: 1000 }), CHAT_URL: upstream.url },
  });
  const owner = await client.signUp();
  const sql = postgres(databaseUrl, { max: 1, onnotice: () => {} });
  t.teardown(() => sql.end());
  const history = new History();
  const charges = () => sql<{ day: string; state: string; tokens: number | null }[]>`
    select day::text, state, input_tokens + output_tokens as tokens from requests order by admitted_at`;
  const states = async () => (await charges()).map(({ state }) => state);
  const stream = (caller: Caller = owner) =>
    history.chat(client.origin, caller, { message: 'Hello', store: false, stream: true });
  const retrying = { ...owner, sendsIdempotencyKeys: true };
  /** Waits until the ledger and the upstream have the requests. The upstream handles each as configured on arrival. */
  const until = async (expected: string[], calls: number) => {
    while ((await states()).join() !== expected.join() || (await upstream.calls()).chat < calls)
      await sleep(20);
  };

  await bringMidnight(sql);
  const [dayOf] = await sql<{ day: string }[]>`select ledger_day(ledger_now())::text as day`;
  await upstream.configure({ chunks: 100, chunkIntervalMs: BEFORE_MS / 70 });
  const begun = stream();
  await until(['final'], 1);
  await upstream.configure({ headersDelayMs: BEFORE_MS + 1000 });
  const late = [stream(), stream(retrying)];
  await until(['final', 'admitted'], 3);
  await upstream.configure({ headersDelayMs: BEFORE_MS + 1000, fault: 'status', status: 500 });
  const failed = [stream(), stream(retrying)];
  await until(['final', 'admitted', 'admitted'], 5);
  t.same(
    await sql`select ledger_day(ledger_now())::text as day`,
    [dayOf],
    'all were admitted before midnight',
  );

  t.match(await begun, { status: 200, isWhole: true });
  for (const one of await Promise.all(late)) t.match(one, { status: 200, isWhole: true });
  for (const one of await Promise.all(failed)) t.match(one, { status: 502 });
  const day = dayOf?.day ?? '';
  t.notMatch(await sql`select ledger_day(ledger_now())::text as day`, [{ day }], 'all ended after midnight');
  while ((await charges()).some(({ state, tokens }) => state === 'final' && tokens === null)) await sleep(20);
  const all = await charges();
  t.same(all.map(({ state }) => state).sort(), ['final', 'final', 'final', 'refunded', 'refunded']);
  t.ok(all.every((one) => one.day === day));
  const tokens = all.reduce((sum, one) => sum + (one.tokens ?? 0), 0);
  t.ok(tokens > 100);
  t.same(await sql`select day::text, meter, used::int from usage_counters where used <> 0 order by meter`, [
    { day, meter: 'chat', used: 3 },
    { day, meter: 'tokens', used: tokens },
  ]);
  t.same(await sql`select distinct day::text from key_usage`, [{ day }]);
  t.match(
    (await client.get('/usage', { cookie: owner.cookie })).body,
    { used: { chat: 0 } },
    'the new day has no usage',
  );
  t.match(await history.check(databaseUrl), { faults: [], final: 3, refunded: 2 });
});
