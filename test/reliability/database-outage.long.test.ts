// Charges during an outage of the database or of the connection to it: reliability tests 32, 33, and 35.
import { setTimeout as sleep } from 'node:timers/promises';
import t, { type Test } from 'tap';
import { alternating, type Caller, History, load } from '../support/history.ts';
import type { Client } from '../support/http.ts';
import { until } from '../support/ledger.ts';
import { settled } from '../support/ledger-state.ts';
import { type Postgres, postgresUrl, startPostgres } from '../support/postgres.ts';
import { type Cluster, startCluster } from '../support/replicas.ts';
import { plansFile } from '../support/service.ts';
import { startTcpProxy, type TcpProxy } from '../support/tcp-proxy.ts';
import { startUpstream, type Upstream } from '../support/upstream/client.ts';

const CEILING = 1_000_000;

type Setting = Cluster & {
  upstream: Upstream;
  server: Postgres;
  proxy: TcpProxy;
  url: string;
  callers: Caller[];
};

const callersOf = async (client: Client): Promise<Caller[]> => {
  const owner = await client.signUp();
  const { accountId, cookie } = owner;
  const keys = [await client.createKey(owner), await client.createKey(owner)];
  return [...keys.map(({ key }) => ({ accountId, key })), { accountId, cookie }];
};

/** One process that connects to a dedicated Postgres through a proxy. */
async function start(t: Test): Promise<Setting> {
  const server = await startPostgres({ durable: true });
  t.teardown(() => server.drop());
  const proxy = await startTcpProxy(server.port);
  t.teardown(() => proxy.close());
  const upstream = await startUpstream();
  t.teardown(() => upstream.stop());
  const cluster = await startCluster(t, {
    count: 1,
    env: { ...plansFile(t, { chat: CEILING }), CHAT_URL: upstream.url },
    databaseUrl: postgresUrl(proxy.port, 'postgres'),
  });
  return { ...cluster, upstream, server, proxy, url: server.url(), callers: await callersOf(cluster.client) };
}

t.test('a dropped or hanging connection', async (t) => {
  const { client, proxy, replicas, upstream, url } = await start(t);
  const origin = client.origin;
  const [replica] = replicas;

  for (const [marker, what] of [
    ['ledger_admit', 'admission'],
    ['ledger_settle', 'settlement'],
  ] as const) {
    await t.test(
      `35: a connection that drops between the COMMIT of a batch and its result charges once (${what})`,
      async (t) => {
        const history = new History();
        const callers = alternating(await callersOf(client));
        // The proxy recognizes statements only after they have been prepared by name.
        await Promise.all(
          callers.flatMap((caller) => Array.from({ length: 8 }, () => history.chat(origin, caller))),
        );
        for (let n = 0; n < 10; n += 1) {
          const before = proxy.cuts;
          proxy.cutAnswerTo(marker, 1);
          const seen = await Promise.all(callers.map((caller) => history.chat(origin, caller)));
          t.equal(proxy.cuts, before + 1);
          t.ok(
            seen.every(({ status }) => status === 200),
            'the batch is retried and the requests are served',
          );
          t.ok(Math.max(...seen.map(({ endedAt, sentAt }) => endedAt - sentAt)) < 20_000);
        }
        const verdict = await history.check(url);
        t.match(verdict, { faults: [], failed: 0, refunded: 0, final: history.seen.length });
      },
    );
  }

  await t.test(
    '35: if the connection keeps dropping until the request fails, nothing is charged',
    async (t) => {
      const history = new History();
      const [caller] = (await callersOf(client)) as [Caller];
      proxy.cutAnswerTo('ledger_admit', 1000);
      const seen = await history.chat(origin, { ...caller, sendsIdempotencyKeys: true });
      proxy.cutAnswerTo('ledger_admit', 0);
      t.match(seen, { status: 503, code: 'serviceUnavailable' });
      t.equal(seen.headers?.get('retry-after'), '1');
      await settled(url, 5000);
      t.match(await history.chat(origin, caller), { status: 200 });
      t.same((await history.check(url)).faults, []);
    },
  );

  await t.test(
    '33: without a database, requests get 503 in bounded time, and no engine is called',
    async (t) => {
      const history = new History();
      const callers = await callersOf(client);
      proxy.refuse();
      const before = (await upstream.calls()).chat;
      const seen = await Promise.all(callers.map((caller) => history.chat(origin, caller)));
      for (const one of seen) {
        t.match(one, { status: 503, code: 'serviceUnavailable' });
        t.ok(Number(one.headers?.get('retry-after')) >= 1);
        t.ok(one.endedAt - one.sentAt < 25_000, `response after ${Math.round(one.endedAt - one.sentAt)} ms`);
      }
      t.equal((await upstream.calls()).chat, before);
      proxy.accept();
      await recovered(t, history, origin, callers[0] as Caller, 5000);
      t.same((await history.check(url)).faults, []);
      t.ok(replica?.isRunning);
    },
  );

  await t.test('33: while the database hangs, requests get 503 in bounded time', async (t) => {
    const history = new History();
    const callers = await callersOf(client);
    proxy.blackHole(true);
    const seen = await Promise.all(callers.map((caller) => history.chat(origin, caller)));
    proxy.blackHole(false);
    for (const one of seen) {
      t.match(one, { status: 503, code: 'serviceUnavailable' });
      t.ok(one.endedAt - one.sentAt < 25_000, `response after ${Math.round(one.endedAt - one.sentAt)} ms`);
    }
    await recovered(t, history, origin, callers[0] as Caller, 5000);
    await settled(url, 8000);
    t.same((await history.check(url)).faults, []);
  });
});

t.test(
  '32: when Postgres restarts under load, requests get 503 with Retry-After, and then are served again without losses',
  async (t) => {
    const { client, replicas, server, url, ...setting } = await start(t);
    const callers = alternating(setting.callers);
    const history = new History();
    const failures = () => history.seen.filter(({ status }) => status !== 200);
    let isOver = false;
    // Stops the load even if the test fails early.
    t.teardown(() => {
      isOver = true;
    });
    const running = load(history, {
      callers,
      concurrency: 32,
      origins: [client.origin],
      until: () => isOver,
    });
    for (const end of ['restart', 'kill'] as const) {
      const served = history.delivered().length;
      await until(t, 'requests are served', 30_000, async () => history.delivered().length > served + 50);
      const failed = failures().length;
      if (end === 'kill') await server.kill();
      else await server.stop();
      // The ledger retries its writes for seconds, so a short outage might not fail any request.
      await until(t, 'a request fails', 25_000, async () => failures().length > failed);
      await server.restart();
      const from = performance.now();
      const before = history.delivered().length;
      while (history.delivered().length < before + 50 && performance.now() - from < 60_000) await sleep(20);
      const tookMs = Math.round(performance.now() - from);
      t.ok(tookMs < 60_000, `served again after ${tookMs} ms`);
    }
    isOver = true;
    await running;
    await settled(url, 10_000);
    t.same(
      [...new Set(failures().map(({ code }) => code))],
      ['serviceUnavailable'],
      JSON.stringify(history.summary()),
    );
    t.ok(
      failures().every(({ headers }) => Number(headers?.get('retry-after')) >= 1),
      'every failure has Retry-After',
    );
    t.same((await history.check(url)).faults, []);
    t.ok(replicas[0]?.isRunning, 'the process is still running');
    t.notMatch(replicas[0]?.log, /rejected a ledger batch/);
  },
);

async function recovered(t: Test, history: History, origin: string, caller: Caller, withinMs: number) {
  const from = performance.now();
  while ((await history.chat(origin, caller)).status !== 200) {
    if (performance.now() - from > withinMs) return t.fail(`It did not recover within ${withinMs} ms.`);
    await sleep(100);
  }
}
