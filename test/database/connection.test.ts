// Connections to Postgres, and statements when a connection is lost: the basis of reliability tests 32, 33, and 35.
import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { sql } from 'drizzle-orm';
import t, { type Test } from 'tap';
import {
  type Database,
  isTransactionPooler,
  isUnavailable,
  mayHaveTakenEffect,
  openDatabase,
  rowsOf,
  sqlState,
  wasNotSent,
} from '../../src/database/client.ts';
import { hasPgbouncer, startPgbouncer } from '../support/pgbouncer.ts';
import { reset } from '../support/reset.ts';
import { freshDatabase } from '../support/service.ts';
import { startTcpProxy } from '../support/tcp-proxy.ts';

const TIMEOUT_MS = 1000;

/** A fresh database behind a proxy. */
async function start(t: Test, connections = 12) {
  const { drop, env } = await freshDatabase('postgres');
  const url = new URL(String(env.DATABASE_URL));
  const proxy = await startTcpProxy(Number(url.port));
  url.port = String(proxy.port);
  const database = await openDatabase({ url: url.href, connections, timeoutMs: TIMEOUT_MS });
  t.teardown(async () => {
    await database.close();
    await proxy.close();
    await drop();
  });
  return { database, proxy };
}

/** A server that runs `onCall` on each connection. Returns its URL and a function that counts connections. */
async function startServer(t: Test, onCall: (socket: Socket) => void) {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
    onCall(socket);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return { url: `postgres://parley@127.0.0.1:${port}/parley`, calls: () => sockets.size };
}

const ask = async (database: Database, n: number) =>
  (await rowsOf<{ n: number }>(database.db, sql`select ${n}::int as n`))[0]?.n;

async function failure(work: Promise<unknown>) {
  const from = performance.now();
  const error = await work.then(
    () => undefined,
    (problem: unknown) => problem,
  );
  return { error, tookMs: performance.now() - from };
}

t.test(
  'while connections keep dropping under load, a statement returns the right result or fails in bounded time',
  async (t) => {
    const { database, proxy } = await start(t);
    let isOver = false;
    let answered = 0;
    let failed = 0;
    let slowest = 0;
    const wrong: unknown[] = [];
    const worker = async (id: number) => {
      for (let n = id; !isOver; n += 100) {
        const from = performance.now();
        try {
          const one = await ask(database, n);
          const two = await database.db.transaction((tx) => ask({ ...database, db: tx }, n));
          const [three] = await database.run<{ n: number }>('select $1::int as n', [n]);
          if (one !== n || two !== n || three?.n !== n) wrong.push([n, one, two, three]);
          answered += 1;
        } catch (error) {
          if (!isUnavailable(error)) wrong.push(error);
          failed += 1;
        }
        slowest = Math.max(slowest, performance.now() - from);
      }
    };
    const workers = Array.from({ length: 24 }, (_, id) => worker(id));
    for (let cut = 0; cut < 40; cut += 1) {
      const answeredBefore = answered;
      // Cuts at different times of a statement.
      await new Promise((go) => setTimeout(go, 10 + 2 * cut));
      // Connecting may take longer than the time between cuts.
      while (cut % 4 === 3 && answered === answeredBefore) await new Promise((go) => setTimeout(go, 10));
      proxy.cut();
    }
    isOver = true;
    await Promise.all(workers);
    t.same(wrong.slice(0, 3), []);
    t.ok(answered > 0 && failed > 0, `${answered} succeeded, ${failed} failed`);
    t.ok(slowest < 40 * TIMEOUT_MS, `the slowest statement took ${Math.round(slowest)} ms`);
    t.equal(await ask(database, 7), 7, 'later statements work');
  },
);

t.test('if a server closes connections without responding, each statement connects only once', async (t) => {
  const { calls, url } = await startServer(t, (socket) => socket.end());
  const database = await openDatabase({ url, timeoutMs: 30 * TIMEOUT_MS });
  t.teardown(() => database.close());
  for (let n = 1; n <= 3; n += 1) {
    const { error, tookMs } = await failure(ask(database, n));
    t.ok(wasNotSent(error), String(error));
    t.ok(tookMs < 20 * TIMEOUT_MS);
    t.equal(calls(), n);
  }
  t.ok(wasNotSent((await failure(database.db.transaction((tx) => tx.execute(sql`select 1`)))).error));
  t.ok(wasNotSent((await failure(database.run('select 1', []))).error));
});

t.test('if a server resets every connection, a statement fails after one attempt', async (t) => {
  const { calls, url } = await startServer(t, reset);
  const database = await openDatabase({ url, timeoutMs: 30 * TIMEOUT_MS });
  t.teardown(() => database.close());
  const { error, tookMs } = await failure(ask(database, 1));
  t.ok(isUnavailable(error), String(error));
  t.ok(tookMs < 20 * TIMEOUT_MS);
  t.equal(calls(), 1);
});

t.test(
  'if a server never responds, every statement fails in bounded time, however many are waiting',
  async (t) => {
    const { url } = await startServer(t, () => {});
    const database = await openDatabase({ url, connections: 2, timeoutMs: TIMEOUT_MS });
    const all = await Promise.all(Array.from({ length: 50 }, (_, n) => failure(ask(database, n))));
    t.ok(all.every(({ error }) => isUnavailable(error)));
    t.ok(Math.max(...all.map(({ tookMs }) => tookMs)) < 15 * TIMEOUT_MS);
    const closing = performance.now();
    await database.close();
    t.ok(performance.now() - closing < 20_000, 'the database closes');
  },
);

t.test('the server cancels a statement that exceeds its timeout, and the connection is reused', async (t) => {
  const { database } = await start(t, 1);
  const backend = async () =>
    (await rowsOf<{ pid: number }>(database.db, sql`select pg_backend_pid() as pid`))[0]?.pid;
  const before = await backend();
  const { error, tookMs } = await failure(database.db.execute(sql`select pg_sleep(60)`));
  t.equal(sqlState(error), '57014', String(error));
  t.ok(isUnavailable(error) && !mayHaveTakenEffect(error));
  t.ok(tookMs > TIMEOUT_MS * 0.8 && tookMs < TIMEOUT_MS * 30);
  t.equal(await backend(), before);
});

t.test('a statement whose result does not arrive times out, and the next one works', async (t) => {
  const { database, proxy } = await start(t, 1);
  await ask(database, 1);
  proxy.blackHole(true);
  const { error, tookMs } = await failure(ask(database, 2));
  t.ok(mayHaveTakenEffect(error), String(error));
  t.ok(tookMs > TIMEOUT_MS * 0.9 && tookMs < TIMEOUT_MS * 30);
  proxy.blackHole(false);
  t.equal(await ask(database, 3), 3);
});

t.test('an idle transaction is terminated, and its locks are released', async (t) => {
  const { database } = await start(t);
  const { db } = database;
  await db.execute(sql`create table locked (n int)`);
  const { error } = await failure(
    db.transaction(async (tx) => {
      await tx.execute(sql`lock table locked`);
      // The server terminates the transaction in this time.
      await new Promise((resolve) => setTimeout(resolve, 2.5 * TIMEOUT_MS));
      t.same(await rowsOf(db, sql`select n from locked`), [], 'another connection can read the table');
      await tx.execute(sql`select 1`);
    }),
  );
  t.ok(isUnavailable(error), String(error));
});

t.test(
  'behind a transaction pooler',
  { skip: !hasPgbouncer() && 'PgBouncer is not installed' },
  async (t) => {
    const { drop, env } = await freshDatabase('postgres');
    const url = await startPgbouncer(t, String(env.DATABASE_URL));
    const database = await openDatabase({ url, isPooled: true, timeoutMs: 4 * TIMEOUT_MS });
    t.teardown(async () => {
      await database.close();
      await drop();
    });
    const { db } = database;
    await db.execute(sql`create table things (n int primary key)`);
    const things = () => rowsOf<{ n: number }>(db, sql`select n from things order by n`);

    await t.test('the pooler is detected', async (t) => {
      t.equal(await isTransactionPooler(url), true);
      t.equal(await isTransactionPooler(String(env.DATABASE_URL)), false);
    });

    await t.test(
      'the server cancels a statement that exceeds its timeout, inside or outside a transaction',
      async (t) => {
        const alone = await failure(db.execute(sql`select pg_sleep(60)`));
        t.equal(sqlState(alone.error), '57014', String(alone.error));
        const within = await failure(db.transaction((tx) => tx.execute(sql`select pg_sleep(60)`)));
        t.equal(sqlState(within.error), '57014', String(within.error));
        t.equal(sqlState((await failure(database.prepared('select pg_sleep(60)', []))).error), '57014');
        t.ok(Math.max(alone.tookMs, within.tookMs) < TIMEOUT_MS * 40);
      },
    );

    await t.test(
      'a single statement is committed when it returns, and rolled back if it fails',
      async (t) => {
        await Promise.all([1, 2, 3].map((n) => db.execute(sql`insert into things values (${n}::int)`)));
        t.equal(
          sqlState((await failure(db.execute(sql`insert into things values (4), (1)`))).error),
          '23505',
        );
        t.same(await things(), [{ n: 1 }, { n: 2 }, { n: 3 }]);
        t.same(await database.run('select $1::int as n', [7]), [{ n: 7 }]);
      },
    );

    await t.test('the statement timeout does not remain on pooled connections that others use', async (t) => {
      const plain = await openDatabase({ url, isPooled: true });
      t.teardown(() => plain.close());
      for (let n = 0; n < 20; n += 1)
        t.same(await rowsOf(plain.db, sql`show statement_timeout`), [{ statement_timeout: '0' }]);
    });
  },
);

t.test('transactions', async (t) => {
  const { database, proxy } = await start(t);
  const { db } = database;
  await db.execute(sql`create table things (n int primary key, data jsonb)`);
  const things = async () =>
    (await rowsOf<{ n: number }>(db, sql`select n from things order by n`)).map(({ n }) => n);

  await t.test(
    'a transaction that loses its connection fails as a whole, and no later statement runs on another connection',
    async (t) => {
      let late: unknown;
      const { error } = await failure(
        db.transaction(async (tx) => {
          await tx.execute(sql`insert into things values (1)`);
          proxy.cut();
          late = (await failure(tx.execute(sql`insert into things values (2)`))).error;
        }),
      );
      t.ok(mayHaveTakenEffect(error), String(error));
      t.ok(late);
      // The pool has not noticed yet that its idle connections are lost.
      while ((await ask(database, 1).catch(() => 0)) !== 1);
      t.same(await things(), []);
    },
  );

  await t.test('a transaction whose backend is terminated fails as a whole', async (t) => {
    const { error } = await failure(
      db.transaction(async (tx) => {
        await tx.execute(sql`insert into things values (1)`);
        const [row] = await rowsOf<{ pid: number }>(tx, sql`select pg_backend_pid() as pid`);
        await db.execute(sql`select pg_terminate_backend(${row?.pid}::int)`);
        await tx.execute(sql`insert into things values (2)`);
      }),
    );
    t.ok(isUnavailable(error), String(error));
    t.same(await things(), []);
  });

  await t.test('a failed statement fails the transaction, even if its error is ignored', async (t) => {
    const { error } = await failure(
      db.transaction(async (tx) => {
        await tx.execute(sql`insert into things values (1)`);
        await tx.execute(sql`select 1 / 0`).catch(() => {});
      }),
    );
    t.equal(sqlState(error), '22012');
    t.same(await things(), []);
  });

  await t.test('a failed nested transaction rolls back only its own part', async (t) => {
    await db.transaction(async (tx) => {
      await tx.execute(sql`insert into things values (1)`);
      const inner = tx.transaction((nested) => nested.execute(sql`insert into things values (2), (1)`));
      t.equal(sqlState((await failure(inner)).error), '23505');
      await tx.transaction((nested) => nested.execute(sql`insert into things values (3)`));
    });
    t.same(await things(), [1, 3]);
  });

  await t.test('a transaction that has ended accepts no more statements', async (t) => {
    let kept: typeof db | undefined;
    await db.transaction(async (tx) => {
      kept = tx;
    });
    t.match((await failure(kept?.execute(sql`insert into things values (9)`) as Promise<unknown>)).error, {
      cause: { message: 'The transaction is over.' },
    });
    t.same(await things(), [1, 3]);
  });
});
