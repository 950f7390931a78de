// A slow database, with more requests than connections, does not make a replica unready. Contract section 1.
import { setTimeout as sleep } from 'node:timers/promises';
import t from 'tap';
import { startCluster } from '../support/replicas.ts';
import { freshDatabase } from '../support/service.ts';
import { startTcpProxy } from '../support/tcp-proxy.ts';

t.test(
  'GET /readyz: 200 while every connection is in use, and 503 once the database stops responding',
  async (t) => {
    const database = await freshDatabase('postgres');
    t.teardown(() => database.drop());
    const url = new URL(String(database.env.DATABASE_URL));
    const proxy = await startTcpProxy(Number(url.port));
    t.teardown(() => proxy.close());
    url.port = String(proxy.port);
    const { client } = await startCluster(t, {
      ...{ count: 1, databaseUrl: url.href },
      env: { DATABASE_CONNECTIONS: '10' },
    });
    const { cookie } = await client.signUp();
    const ready = async () => (await client.get('//readyz')).status;
    t.equal(await ready(), 200);
    proxy.delay(150);
    let isOver = false;
    const statuses = new Set<number>();
    const reader = async () => {
      while (!isOver) statuses.add((await client.get('/conversations', { cookie })).status);
    };
    const readers = Array.from({ length: 30 }, reader);
    const seen: number[] = [];
    for (const end = performance.now() + 6000; performance.now() < end; await sleep(100))
      seen.push(await ready());
    isOver = true;
    await Promise.all(readers);
    t.same([...new Set(seen)], [200], `${seen.length} polls`);
    t.ok(statuses.has(200), 'requests were served');
    proxy.blackHole(true);
    const from = performance.now();
    while ((await ready()) !== 503) await sleep(50);
    t.ok(performance.now() - from < 10_000, 'the outage is detected');
  },
);
