/** Reliability test 30: kill -9 at random moments under load. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Test } from 'tap';
import { alternating, type Caller, History, load } from './history.ts';
import { differences, settled } from './ledger-state.ts';
import { startPostgres } from './postgres.ts';
import { type Replica, startCluster } from './replicas.ts';
import { plansFile } from './service.ts';
import { startUpstream } from './upstream/client.ts';

const CEILING = 1_000_000;
/** A lease, a sweep, and some time for a busy machine. */
export const SWEPT_WITHIN_MS = 90_000;

/**
 * Repeatedly kills one of three replicas under load, and compares the responses that clients saw with the ledger.
 *
 * @param kills - the number of kills
 */
export async function killUnderLoad(t: Test, kills: number): Promise<void> {
  const server = await startPostgres({ durable: true });
  t.teardown(() => server.drop());
  // Slow enough that a kill meets every step: admitted, engine called, mid-stream, before the final write.
  const upstream = await startUpstream({ headersDelayMs: 20, chunks: 20, chunkIntervalMs: 5 });
  t.teardown(() => upstream.stop());
  const { client, databaseUrl, replicas } = await startCluster(t, {
    count: 3,
    env: { ...plansFile(t, { chat: CEILING }), CHAT_URL: upstream.url, STREAMS_PER_ACCOUNT: '1000' },
    databaseUrl: server.url(),
  });
  const callers: Caller[] = [];
  for (let n = 0; n < 4; n += 1) {
    const owner = await client.signUp();
    callers.push(owner, { accountId: owner.accountId, key: (await client.createKey(owner)).key });
  }
  const history = new History();
  let isOver = false;
  // If the test fails midway, the load must stop too.
  t.teardown(() => {
    isOver = true;
  });
  const running = load(history, {
    callers: alternating(callers),
    concurrency: 48,
    streams: true,
    origins: replicas.map(({ origin }) => origin),
    until: () => isOver,
  });
  for (let n = 0; n < kills; n += 1) {
    // Kills at a random moment under load.
    await sleep(100 + Math.random() * 400);
    const victim = replicas[n % replicas.length] as Replica;
    await victim.kill('SIGKILL');
    const found = await differences(databaseUrl);
    if (found.length > 0) t.fail(`After kill ${n + 1}, the audit found ${JSON.stringify(found)}`);
    await victim.start();
  }
  isOver = true;
  await running;
  const tookMs = await settled(databaseUrl, SWEPT_WITHIN_MS);
  const verdict = await history.check(databaseUrl, { ceiling: CEILING });
  t.comment(`${kills} kills, swept after ${Math.round(tookMs)} ms`, history.summary(), verdict);
  t.same(verdict.faults, []);
  t.ok(verdict.delivered > kills * 20, 'there is enough load during the kills');
  t.ok(verdict.final >= verdict.delivered);
  const streams = history.delivered().filter(({ isWhole }) => isWhole !== undefined);
  t.ok(streams.length > kills, 'the load includes streams');
  t.ok(verdict.refunded > 0, 'some charges were open when their process was killed, and are refunded');
}
