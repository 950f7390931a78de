// Processes that die or stop under load: reliability test 30. `make soak` kills 200 times.
import { setTimeout as sleep } from 'node:timers/promises';
import postgres from 'postgres';
import t from 'tap';
import { killUnderLoad, SWEPT_WITHIN_MS } from '../support/crashes.ts';
import { alternating, type Caller, History, load } from '../support/history.ts';
import { settled } from '../support/ledger-state.ts';
import { type Replica, startCluster } from '../support/replicas.ts';
import { plansFile } from '../support/service.ts';
import { eventually } from '../support/upstream/engine.ts';

const KILLS = Number(process.env.SOAK_KILLS ?? 5);

t.test(
  `30: killed ${KILLS} times under load: what was delivered is charged, what was open is given back`,
  (t) => killUnderLoad(t, KILLS),
);

t.test('30: a process stopped past its lease and continued delivers nothing uncharged', async (t) => {
  const { client, databaseUrl, replicas } = await startCluster(t, {
    count: 2,
    env: plansFile(t, { chat: 1_000_000 }),
  });
  const [stopped, other] = replicas as [Replica, Replica];
  const owner: Caller = await client.signUp();
  const sql = postgres(databaseUrl, { max: 1, onnotice: () => {} });
  t.teardown(() => sql.end());
  const history = new History();
  let isOver = false;
  // Also where it fails on the way: the load must not go on for ever.
  t.teardown(() => {
    isOver = true;
  });
  const running = load(history, {
    callers: alternating([owner]),
    concurrency: 64,
    origins: [stopped.origin],
    until: () => isOver,
  });
  const open = async () => {
    const [row] = await sql<{ open: number }[]>`
      select count(*)::int as open from requests where state = 'admitted'`;
    return row?.open ?? 0;
  };

  for (;;) {
    await sleep(200 + Math.random() * 100);
    stopped.pause();
    // What it had sent may still be under way in the database.
    await sleep(300);
    if ((await open()) > 0) break;
    stopped.resume();
  }
  const [held] = await sql<{ ids: string[] }[]>`
    select array_agg(id::text) as ids from requests where state = 'admitted'`;
  const sweptAfterMs = await settled(databaseUrl, SWEPT_WITHIN_MS);
  t.ok(
    sweptAfterMs < SWEPT_WITHIN_MS,
    `another process gave back ${held?.ids.length} charges after ${Math.round(sweptAfterMs)} ms`,
  );
  t.equal((await history.chat(other.origin, owner)).status, 200, 'the other one serves meanwhile');
  const before = history.delivered().length;
  stopped.resume();
  await eventually('it goes on serving', async () => history.delivered().length > before + 100);
  isOver = true;
  await running;
  await settled(databaseUrl, SWEPT_WITHIN_MS);
  const delivered = history.delivered().map(({ id }) => id);
  t.same(
    held?.ids.filter((id) => delivered.includes(id)),
    [],
    'nothing that was given back was delivered',
  );
  t.same((await history.check(databaseUrl)).faults, []);
});
