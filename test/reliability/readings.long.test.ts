// Replicas that admit requests based on readings: reliability tests 81, 82, and 83.
import t from 'tap';
import { type Caller, History } from '../support/history.ts';
import { startPostgres } from '../support/postgres.ts';
import { type Replica, startCluster } from '../support/replicas.ts';
import { plansFile } from '../support/service.ts';
import { startUpstream } from '../support/upstream/client.ts';
import { eventually } from '../support/upstream/engine.ts';

const SLOW_MS = 1500;

t.test(
  '81: while a replica is paused with requests in flight, the others can use every unit without delay',
  async (t) => {
    const upstream = await startUpstream();
    t.teardown(() => upstream.stop());
    const ceiling = 50;
    const { client, databaseUrl, replicas } = await startCluster(t, {
      count: 3,
      env: { ...plansFile(t, { chat: ceiling }), CHAT_URL: upstream.url },
    });
    const [paused, ...others] = replicas as [Replica, Replica, Replica];
    const askOthers = async (history: History, owner: Caller) => {
      const from = performance.now();
      await Promise.all(
        Array.from({ length: ceiling + 10 }, (_, n) => history.chat(others[n % 2]?.origin as string, owner)),
      );
      return performance.now() - from;
    };
    // How long this takes on the machine without a pause.
    const usualMs = await askOthers(new History(), await client.signUp());
    await upstream.reset();
    const owner: Caller = await client.signUp();
    const history = new History();
    await upstream.configure({ headersDelayMs: SLOW_MS });
    const early = Array.from({ length: 3 }, () => history.chat(paused.origin, owner));
    await eventually(
      'the requests have reached the engine',
      async () => (await upstream.calls()).chat === early.length,
    );
    paused.pause();
    t.teardown(() => paused.resume());
    await upstream.reset();
    const tookMs = await askOthers(history, owner);
    t.equal(history.delivered().length, ceiling, 'every unit is used');
    t.ok(tookMs < usualMs + 2000, `took ${Math.round(tookMs)} ms, ${Math.round(usualMs)} ms without a pause`);
    paused.resume();
    const late = await Promise.all(early);
    t.same(
      late.map(({ code }) => code),
      late.map(() => 'quotaExceeded'),
      'the paused replica delivers nothing after it resumes',
    );
    t.match(await history.check(databaseUrl, { ceiling }), {
      faults: [],
      delivered: ceiling,
      final: ceiling,
    });
  },
);

t.test('82: if Postgres is killed while requests are in flight, the quota is not exceeded', async (t) => {
  const server = await startPostgres({ durable: true });
  t.teardown(() => server.drop());
  const upstream = await startUpstream();
  t.teardown(() => upstream.stop());
  const ceiling = 160;
  const { client, databaseUrl, replicas } = await startCluster(t, {
    count: 3,
    env: { ...plansFile(t, { chat: ceiling }), CHAT_URL: upstream.url },
    databaseUrl: server.url(),
  });
  const owner: Caller = await client.signUp();
  const history = new History();
  const send = (count: number) =>
    Promise.all(
      Array.from({ length: count }, (_, n) => history.chat(replicas[n % 3]?.origin as string, owner)),
    );
  await send(30);
  await upstream.configure({ headersDelayMs: SLOW_MS });
  const inFlight = send(24);
  await eventually(
    'the requests have reached the engine',
    async () => (await upstream.calls()).chat >= 30 + 15,
  );
  await server.kill();
  await server.restart();
  await upstream.reset();
  await inFlight;
  await eventually('the service recovers', async () => (await send(1))[0]?.status === 200);
  await send(2 * ceiling);
  t.match(await history.check(databaseUrl, { ceiling }), { faults: [], final: ceiling });
});

for (const ceiling of [1, 10_000])
  t.test(`83: three replicas serve exactly a quota of ${ceiling}`, async (t) => {
    const { client, databaseUrl, replicas } = await startCluster(t, {
      count: 3,
      env: { ...plansFile(t, { chat: ceiling }), CALLS_PER_ACCOUNT: '1000' },
    });
    const owner: Caller = await client.signUp();
    const history = new History();
    const waves = Math.ceil((ceiling + 1) / 300);
    for (let wave = 1; wave <= waves; wave += 1) {
      await Promise.all(
        Array.from({ length: 300 }, (_, n) => history.chat(replicas[n % 3]?.origin as string, owner)),
      );
      const sent = wave * 300;
      if (sent <= ceiling) t.equal(history.delivered().length, sent, 'no refusal while units are left');
    }
    const expected = { faults: [], delivered: ceiling, final: ceiling, refused: waves * 300 - ceiling };
    t.match(await history.check(databaseUrl, { ceiling }), expected);
  });
