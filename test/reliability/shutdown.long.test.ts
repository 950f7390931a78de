// SIGTERM under load: reliability test 31.
import postgres from 'postgres';
import t from 'tap';
import { type Caller, History, load } from '../support/history.ts';
import { type Replica, startCluster } from '../support/replicas.ts';
import { plansFile } from '../support/service.ts';
import { eventually } from '../support/upstream/engine.ts';

t.test(
  '31: on SIGTERM under load, all admitted requests are delivered, no charge stays open, and the process exits with 0',
  async (t) => {
    const { client, databaseUrl, replicas } = await startCluster(t, {
      count: 2,
      env: { ...plansFile(t, { chat: 1_000_000 }), DRAIN_SECONDS: '60' },
    });
    const [first, other] = replicas as [Replica, Replica];
    const owner: Caller = await client.signUp();
    const sql = postgres(databaseUrl, { max: 1, onnotice: () => {} });
    t.teardown(() => sql.end());
    const [leaseholders] = await sql<{ count: number }[]>`select count(*)::int from leases`;
    t.equal(leaseholders?.count, 2);

    const history = new History();
    let isOver = false;
    // Stops the load even if the test fails early.
    t.teardown(() => {
      isOver = true;
    });
    const running = load(history, {
      callers: [owner],
      concurrency: 48,
      origins: [first.origin],
      until: () => isOver,
    });
    await eventually('the service is under load', async () => history.delivered().length > 200);
    const from = performance.now();
    const ending = await first.kill('SIGTERM');
    const tookMs = performance.now() - from;
    const [left] = await sql<{ open: number; leases: number }[]>`
    select (select count(*)::int from requests where state = 'admitted') as open, (select count(*)::int from leases) as leases`;
    isOver = true;
    await running;

    t.same(ending, { code: 0, signal: null });
    t.ok(tookMs < 50_000, `shutdown took ${Math.round(tookMs)} ms`);
    t.same(left, { open: 0, leases: 1 }, 'its charges are settled and its lease is released');
    const verdict = await history.check(databaseUrl);
    t.match(verdict, { faults: [], refunded: 0 });
    t.equal(verdict.final, verdict.delivered, 'every charge was delivered');
    t.equal((await history.chat(other.origin, owner)).status, 200);
  },
);
