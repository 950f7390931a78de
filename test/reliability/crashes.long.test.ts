// Processes that are killed or paused under load: reliability test 30. `make soak` kills 200 times.
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
  `30: after ${KILLS} kills under load, delivered requests are charged and open ones are refunded`,
  (t) => killUnderLoad(t, KILLS),
);

t.test(
  '30: a process that is paused past its lease and then resumed delivers nothing uncharged',
  async (t) => {
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
    // Stops the load even if the test fails early.
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
      // Pauses at a random moment under load.
      await sleep(200 + Math.random() * 100);
      stopped.pause();
      // The database may still be processing statements that were sent before.
      await sleep(300);
      if ((await open()) > 0) break;
      stopped.resume();
    }
    const [held] = await sql<{ ids: string[] }[]>`
    select array_agg(id::text) as ids from requests where state = 'admitted'`;
    const sweptAfterMs = await settled(databaseUrl, SWEPT_WITHIN_MS);
    t.ok(
      sweptAfterMs < SWEPT_WITHIN_MS,
      `another process refunded ${held?.ids.length} charges after ${Math.round(sweptAfterMs)} ms`,
    );
    t.equal(
      (await history.chat(other.origin, owner)).status,
      200,
      'the other process serves in the meantime',
    );
    const before = history.delivered().length;
    stopped.resume();
    await eventually(
      'the resumed process serves again',
      async () => history.delivered().length > before + 100,
    );
    isOver = true;
    await running;
    await settled(databaseUrl, SWEPT_WITHIN_MS);
    const delivered = history.delivered().map(({ id }) => id);
    t.same(
      held?.ids.filter((id) => delivered.includes(id)),
      [],
      'no refunded request was delivered',
    );
    t.same((await history.check(databaseUrl)).faults, []);
  },
);
