// A burst across midnight over three processes: reliability test 27.
import postgres from 'postgres';
import t from 'tap';
import { type Caller, History, load } from '../support/history.ts';
import { startCluster } from '../support/replicas.ts';
import { plansFile } from '../support/service.ts';

const CEILING = 30;
/** Long enough for a loaded machine to spend the first day's ceiling. */
const BEFORE_MS = 7000;

t.test(
  '27: in a burst across midnight each request is in exactly one day, and both ceilings are exact',
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
    const untilMidnightMs = 86_400_000 - (Date.now() % 86_400_000);
    await sql.unsafe(`create or replace function ledger_now() returns timestamptz language sql volatile as
    $$ select clock_timestamp() + interval '${untilMidnightMs - BEFORE_MS} ms' $$`);
    const midnightAt = performance.now() + BEFORE_MS;

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
    // The hint is never early: who waits as told meets the new day.
    const early = history.seen
      .filter(({ headers }) => headers?.has('ratelimit-reset'))
      .map(
        ({ endedAt, headers }) => endedAt + Number(headers?.get('ratelimit-reset') ?? 0) * 1000 - midnightAt,
      )
      .filter((ms) => ms < -50);
    t.same(early, []);
  },
);
