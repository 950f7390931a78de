import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import type { FastifyInstance } from 'fastify';
import t, { type Test } from 'tap';
import { buildApp } from '../../src/app.ts';
import { loadConfig } from '../../src/config.ts';
import { type Database, openDatabase } from '../../src/database/client.ts';
import { Client, type OpenApi } from '../support/http.ts';
import { startTestService } from '../support/service.ts';

async function start(t: Test, database: Database): Promise<{ app: FastifyInstance; client: Client }> {
  const { app } = await buildApp({
    config: loadConfig({ LOG_LEVEL: 'silent' }),
    database,
    sessionSecrets: () => ['x'.repeat(32)],
  });
  t.teardown(() => app.close());
  return {
    app,
    client: new Client(await app.listen({ host: '127.0.0.1', port: 0 }), app.swagger() as unknown as OpenApi),
  };
}

/** A server that accepts connections and never replies. */
async function silentServer(t: Test): Promise<string> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => sockets.add(socket.on('error', () => {}))).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return `postgres://parley@127.0.0.1:${(server.address() as AddressInfo).port}/parley`;
}

const ok = { status: 200, body: { status: 'ok' } };
const unavailable = { status: 503, body: { error: { code: 'serviceUnavailable', type: 'server_error' } } };

t.test('with a reachable database', async (t) => {
  const { app, client, drain } = await startTestService(t, 'postgres');

  await t.test('GET /healthz and /readyz 200', async (t) => {
    t.match(await client.get('//healthz'), ok);
    t.match(await client.get('//readyz'), ok);
  });

  await t.test('openapi.json documents both under Service', async (t) => {
    const { paths } = app.swagger() as unknown as OpenApi;
    t.match(paths['/healthz'], { get: { operationId: 'getHealth', tags: ['Service'], security: [] } });
    t.match(paths['/readyz'], {
      get: { operationId: 'getReadiness', tags: ['Service'], responses: { 503: {} } },
    });
  });

  await t.test('GET /readyz 503 serviceUnavailable: while draining; /healthz stays 200', async (t) => {
    drain.begin();
    const answer = await client.get('//readyz');
    t.match(answer, unavailable);
    t.equal(answer.headers.get('retry-after'), '1');
    const health = await client.get('//healthz');
    t.match(health, ok);
    t.equal(health.headers.get('connection'), 'close', 'the connection closes after the response');
  });
});

t.test(
  'GET /readyz 503 serviceUnavailable: with an unresponsive database, checks fail before the statement timeout',
  async (t) => {
    const database = await openDatabase({ url: await silentServer(t), connections: 2, timeoutMs: 15_000 });
    const { client } = await start(t, database);
    const startedAt = performance.now();
    const answers = await Promise.all(Array.from({ length: 50 }, () => client.get('//readyz')));
    const took = performance.now() - startedAt;
    for (const answer of answers) t.match(answer, unavailable);
    t.ok(took > 900 && took < 12_000, `${Math.round(took)} ms`);
    t.match(await client.get('//healthz'), ok, 'the process is still healthy');
    t.notMatch(answers[0]?.text, /postgres|connect|ms/i, 'no internal details');
  },
);

t.test('GET /readyz 503 serviceUnavailable: the database is unreachable', async (t) => {
  const database = await openDatabase({ url: 'postgres://parley@127.0.0.1:1/parley' });
  t.teardown(() => database.close());
  const { client } = await start(t, database);
  t.match(await client.get('//readyz'), unavailable);
});
