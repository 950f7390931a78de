// Startup, crashes, and shutdown of several workers. Contract sections 3, 11, and 13.

import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { sql } from 'drizzle-orm';
import t from 'tap';
import { openDatabase, rowsOf } from '../../src/database/client.ts';
import { serviceCount } from '../../src/store/leases.ts';
import { openStream } from '../support/event-reader.ts';
import { History, load } from '../support/history.ts';
import { Client } from '../support/http.ts';
import { differences, settled } from '../support/ledger-state.ts';
import { failToStart, startProcess } from '../support/process.ts';
import { isAlive, processTree } from '../support/process-tree.ts';
import { document } from '../support/replicas.ts';
import { freshDatabase, plansFile } from '../support/service.ts';
import { startUpstream } from '../support/upstream/client.ts';
import { several, upstreamsFile } from '../support/upstreams-file.ts';
import { apart, askBoth, logOf, metric, servedBy, startWorkers, until, workersOf } from './workers.ts';

const upstream = await startUpstream();
t.teardown(() => upstream.stop());

t.test('several workers with the embedded database abort startup with one line', async (t) => {
  const { code, output } = await failToStart(t, { WORKERS: '2', DATA_DIR: t.testdir() });
  t.equal(code, 1);
  t.match(output, /^WORKERS must be 1 with the embedded database[^\n]+\n$/);
});

t.test('an error in every worker is printed once, and the process exits with its code', async (t) => {
  const database = await freshDatabase('postgres');
  t.teardown(() => database.drop());
  const server = createServer().listen(0, '127.0.0.1');
  t.teardown(() => server.close());
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const { code, output } = await failToStart(t, { ...database.env, WORKERS: '3', PORT: String(port) });
  t.equal(code, 1);
  t.equal(output.match(/is in use by another process/g)?.length, 1, output);
});

t.test('a service with two workers', async (t) => {
  const file = upstreamsFile(several([upstream]));
  const { client, databaseUrl, service } = await startWorkers(t, {
    ...plansFile(t),
    ...file.env,
    READY_DELAY_SECONDS: '3',
  });
  t.match(service.log, /Workers {3}2/);
  const owner = await client.signUp();
  const { key } = await client.createKey(owner);

  await t.test('two workers count as one replica', async (t) => {
    const database = await openDatabase({ url: databaseUrl, connections: 1 });
    t.teardown(() => database.close());
    const [leases] = await rowsOf<{ count: number; services: number }>(
      database.db,
      sql`select count(*)::int as count, (${serviceCount})::int as services from leases`,
    );
    t.same(leases, { count: 2, services: 1 });
  });

  await t.test('SIGHUP reloads UPSTREAMS_FILE in both workers', async (t) => {
    file.write(several([upstream], {}, { name: 'renamed' }));
    process.kill(service.pid, 'SIGHUP');
    await until('both workers have reloaded', () =>
      [1, 2].every((worker) =>
        logOf(service).some((line) => line.worker === worker && line.msg === 'Reloaded UPSTREAMS_FILE.'),
      ),
    );
    await askBoth(service, '/api/v1/models', async () => {
      const { body } = await client.get('/models', { key, headers: apart });
      t.same(
        body.data.map(({ id }: { id: string }) => id),
        ['renamed'],
      );
    });
  });

  await t.test('both workers refuse a revoked key within a second', async (t) => {
    const revoked = await client.createKey(owner);
    const use = () => client.get('/usage', { key: revoked.key, headers: apart });
    for (const _ of [1, 2, 3, 4]) t.equal((await use()).status, 200);
    t.equal((await client.delete(`/keys/${revoked.id}`, { cookie: owner.cookie })).status, 204);
    const revokedAt = performance.now();
    let servedAt = revokedAt;
    await until('both workers refuse the key', async () => {
      const sentAt = performance.now();
      const answers = await Promise.all(Array.from({ length: 4 }, use));
      if (answers.some(({ status }) => status === 200)) servedAt = sentAt;
      return servedBy(service, '/api/v1/usage', 401).length === 2;
    });
    const servedMs = servedAt - revokedAt;
    t.ok(servedMs < 1000, `the key was last served ${servedMs.toFixed()} ms after its revocation`);
  });

  await t.test(
    'if a worker is killed under load, the other serves, it is replaced, and no charge is miscounted',
    async (t) => {
      const history = new History();
      let isOver = false;
      t.teardown(() => {
        isOver = true;
      });
      const running = load(history, {
        callers: [owner],
        concurrency: 16,
        origins: [service.origin],
        until: () => isOver,
      });
      const total = async () =>
        metric(
          (await client.get('//metrics', { headers: apart })).text,
          'parley_charges_total',
          'step="final"',
        );
      await until('the service is under load', async () => (await total()) > 20);
      const before = await total();
      const [victim = 0, survivor = 0] = workersOf(service);
      process.kill(victim, 'SIGKILL');
      // Until the primary notices, it also hands connections to the dead worker.
      const ends = () =>
        logOf(service).filter(({ msg }) => /was killed by SIGKILL\. Restarting it/.test(String(msg)));
      await until('the primary has noticed', () => ends().length > 0);
      for (let n = 0; n < 10; n += 1)
        t.equal((await client.get('//healthz', { headers: apart })).status, 200);
      t.ok((await total()) >= before, 'counters never decrease');
      await until(
        'the dead worker is replaced',
        () => logOf(service).some(({ msg }) => /^Worker [12] is serving again\.$/.test(String(msg))),
        180_000,
      );
      t.ok(workersOf(service).includes(survivor));
      t.equal(workersOf(service).length, 2);
      isOver = true;
      await running;
      await settled(databaseUrl, 90_000);
      t.same(await differences(databaseUrl), []);
      t.equal(ends().length, 1);
    },
  );

  await t.test(
    'on SIGTERM, /readyz returns 503, both workers finish their streams, and the process exits with 0',
    async (t) => {
      await upstream.configure({ chunks: 100, chunkIntervalMs: 50 });
      const body = { message: 'Hi', stream: true };
      const streams = await Promise.all(
        Array.from({ length: 4 }, () => openStream(client, '/chat', body, { key, headers: apart })),
      );
      for (const stream of streams) await stream.next();
      // One load balancer poll for each worker.
      for (const _ of [1, 2]) t.equal((await client.get('//readyz', { headers: apart })).status, 200);
      const workers = workersOf(service);
      const from = performance.now();
      // A supervisor signals every process.
      for (const pid of workers) process.kill(pid, 'SIGTERM');
      const ended = service.kill('SIGTERM');
      const isReady = async () => (await client.get('//readyz', { headers: apart })).status === 200;
      await until('the service is not ready', async () => !(await isReady()), 3000);
      t.notOk(await isReady());
      for (const stream of streams) t.equal((await stream.rest()).at(-1)?.event, 'done');
      t.same(await ended, { code: 0, signal: null });
      t.ok(performance.now() - from > 2900, 'load balancers had time to notice');
      t.notOk(workers.some(isAlive));
    },
  );
});

t.test(
  'if the primary is killed, the port is released, and workers finish their streams and exit',
  async (t) => {
    await upstream.configure({ chunks: 100, chunkIntervalMs: 50 });
    const database = await freshDatabase('postgres');
    t.teardown(() => database.drop());
    // Not with startWorkers, whose cleanup would also end the workers.
    const service = await startProcess(t, { ...database.env, WORKERS: '2', CHAT_URL: upstream.url });
    const client = new Client(service.origin, document());
    const { key } = await client.createKey(await client.signUp());
    const streams = await Promise.all(
      [1, 2].map(() => openStream(client, '/chat', { message: 'Hi', stream: true }, { key, headers: apart })),
    );
    for (const stream of streams) await stream.next();
    const workers = processTree(service.child.pid as number).slice(1);
    t.equal(workers.length, 2);
    await service.end('SIGKILL');
    const server = createServer().listen(service.port, '127.0.0.1');
    t.teardown(() => server.close());
    await once(server, 'listening');
    for (const stream of streams) t.equal((await stream.rest()).at(-1)?.event, 'done');
    await until('the workers have exited', () => !workers.some(isAlive));
    const databaseUrl = database.env.DATABASE_URL as string;
    await settled(databaseUrl, 90_000);
    t.same(await differences(databaseUrl), []);
  },
);
