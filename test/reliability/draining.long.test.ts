// Reliability test 31 for one process: the program that production runs, and a real SIGTERM.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect } from 'node:net';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { sql } from 'drizzle-orm';
import t, { type Test } from 'tap';
import { openDatabase, rowsOf } from '../../src/database/client.ts';
import { openStream } from '../support/event-reader.ts';
import { Client, type OpenApi } from '../support/http.ts';
import { builtProgram, nodeWithoutTap } from '../support/loader.ts';
import { type DatabaseKind, databaseKinds, freshDatabase, startTestService } from '../support/service.ts';
import { startUpstream } from '../support/upstream/client.ts';

const upstream = await startUpstream();
t.teardown(() => upstream.stop());
const root = fileURLToPath(new URL('../../', import.meta.url));

/** Starts the service as a separate process, and creates an account. */
async function startProcess(t: Test, kind: DatabaseKind, drainSeconds: number) {
  const database = await freshDatabase(kind);
  const child = spawn(...nodeWithoutTap(builtProgram('main')), {
    cwd: root,
    stdio: ['ignore', 'pipe', 'ignore'],
    env: {
      ...process.env,
      ...database.env,
      PORT: '0',
      CHAT_URL: upstream.url,
      DRAIN_SECONDS: String(drainSeconds),
    },
  });
  t.teardown(async () => {
    child.kill('SIGKILL');
    await database.drop();
  });
  const ended = once(child, 'exit');
  const lines: string[] = [];
  const origin = await new Promise<string>((resolve) => {
    createInterface(child.stdout).on('line', (line) => {
      lines.push(line);
      const [, address] = /Listening at (http:[^"\s]+)/.exec(line) ?? [];
      if (address) resolve(address);
    });
  });
  const document = (await (await fetch(`${origin}/openapi.json`)).json()) as OpenApi;
  const client = new Client(origin, document);
  const { key } = await client.createKey(await client.signUp());
  /** What the ledger says of every charge, once the process has exited. */
  const charges = async () => {
    const { DATABASE_URL: url, DATA_DIR: dataDir } = database.env;
    const opened = await openDatabase(url ? { url } : { dataDir: String(dataDir) });
    const rows = await rowsOf(
      opened.db,
      sql`select state, status, code from requests order by state, admitted_at`,
    );
    await opened.close();
    return rows;
  };
  return { charges, child, client, ended, key, lines, port: Number(new URL(origin).port) };
}

for (const kind of databaseKinds) {
  t.test(
    `${kind}: on SIGTERM, the service finishes its stream, accepts no new connections, and exits with 0`,
    async (t) => {
      await upstream.configure({ chunks: 20, chunkIntervalMs: 50 });
      const { child, client, ended, key, lines, port } = await startProcess(t, kind, 20);
      const stream = await openStream(client, '/chat', { message: 'Hi', stream: true }, { key });
      await stream.next();
      // Browsers open connections in advance.
      const unused = connect(port, '127.0.0.1');
      unused.on('error', () => {});
      await once(unused, 'connect');
      child.kill('SIGTERM');
      const events = await stream.rest();
      t.equal(events.at(-1)?.event, 'done');
      const [code] = await ended;
      t.equal(code, 0);
      await t.rejects(fetch(`${client.origin}/healthz`));
      t.ok(
        lines.some((line) => line.includes('request completed') && line.includes('"statusCode":200')),
        'the stream is logged as completed',
      );
    },
  );

  t.test(
    `${kind}: requests that are still in flight when the drain time is up end with an error and are recorded`,
    async (t) => {
      await upstream.configure({ chunks: 100_000, chunkIntervalMs: 50 });
      const { charges, child, client, ended, key } = await startProcess(t, kind, 1);
      const body = { message: 'Hi', stream: true };
      const stream = await openStream(client, '/chat', body, { key });
      await stream.next();
      await upstream.configure({ headersDelayMs: 60_000 });
      const waiting = [true, false].map((isStream) =>
        client.post('/chat', { ...body, stream: isStream }, { key }),
      );
      const { chat } = await upstream.calls();
      while ((await upstream.calls()).chat < chat + 2)
        await new Promise((resolve) => setTimeout(resolve, 20));
      const startedAt = performance.now();
      child.kill('SIGTERM');
      const events = await stream.rest();
      t.match(events.at(-1), {
        event: 'error',
        data: { error: { code: 'serviceUnavailable', message: /remains charged/ } },
      });
      for (const answer of await Promise.all(waiting))
        t.match(answer, { status: 503, body: { error: { code: 'serviceUnavailable' } } });
      const [code] = await ended;
      t.equal(code, 0);
      t.ok(performance.now() - startedAt < 30_000);
      t.match(await charges(), [
        { state: 'final', status: 503, code: 'serviceUnavailable' },
        { state: 'refunded', status: 503, code: 'serviceUnavailable' },
        { state: 'refunded', status: 503, code: 'serviceUnavailable' },
      ]);
    },
  );
}

t.test('shutdown does not wait for idle or unused connections', async (t) => {
  const service = await startTestService(t, 'embedded');
  await service.client.get('/plans');
  const unused = connect(service.port, '127.0.0.1');
  unused.on('error', () => {});
  await once(unused, 'connect');
  const startedAt = performance.now();
  await service.app.close();
  t.ok(performance.now() - startedAt < 30_000);
});
