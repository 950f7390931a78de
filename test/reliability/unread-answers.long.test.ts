// Reliability test 60: clients that do not read their responses.
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import t from 'tap';
import { openStream } from '../support/event-reader.ts';
import { startTestService } from '../support/service.ts';
import { surfaces } from '../support/surfaces.ts';
import { startUpstream } from '../support/upstream/client.ts';
import { eventually } from '../support/upstream/engine.ts';

const UNREAD_MS = 3000;
const STREAMS = 20;
const upstream = await startUpstream();
t.teardown(() => upstream.stop());

const all = [
  { path: '/chat', body: (message: string, fields: object) => ({ message, ...fields }) },
  ...surfaces,
];

const requestOf = (path: string, body: unknown, headers: Record<string, string>) => {
  const sent = JSON.stringify(body);
  return [
    `POST /api/v1${path} HTTP/1.1`,
    'Host: localhost',
    'Content-Type: application/json',
    `Content-Length: ${sent.length}`,
    ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
    '',
    sent,
  ].join('\r\n');
};

t.test('with a deadline of 3 s instead of 60 s', async (t) => {
  const {
    app,
    calls: slots,
    client,
    port,
  } = await startTestService(
    t,
    'embedded',
    { CHAT_URL: upstream.url },
    { unreadMs: UNREAD_MS, answerLimits: { characters: 1e9, milliseconds: 600_000 } },
  );
  const owner = await client.signUp();
  const { key } = await client.createKey(owner);
  await client.put('/subscription', { plan: 'pro', billing_period: 'monthly' }, { cookie: owner.cookie });
  const authorization = { Authorization: `Bearer ${key}` };

  /** A client that sends requests and reads nothing, and the service's end of its connection. */
  async function deaf(requests: string): Promise<{ client: Socket; server: Socket }> {
    const [[server], socket] = await Promise.all([
      once(app.server, 'connection') as Promise<[Socket]>,
      (async () => {
        const opened = connect(port, '127.0.0.1');
        await once(opened, 'connect');
        opened.pause();
        opened.on('error', () => {});
        opened.write(requests);
        return opened;
      })(),
    ]);
    return { client: socket, server };
  }

  await t.test(
    '60: 20 unread streams are ended, and their slots and upstream requests are released',
    async (t) => {
      await upstream.configure({ chunks: 100_000_000, chunkSize: 50_000 });
      const connections: Awaited<ReturnType<typeof deaf>>[] = [];
      for (let n = 0; n < STREAMS; n += 1) {
        const { body, path } = all[n % all.length] as (typeof all)[number];
        connections.push(await deaf(requestOf(path, body('Hi', { stream: true }), authorization)));
      }
      await eventually('all streams are open', async () => slots.taken === STREAMS);
      const refused = await client.post('/chat', { message: 'Hi', stream: true }, { key });
      t.equal(refused.body.error.code, 'tooManyStreams');
      await eventually(
        'all streams have ended',
        async () =>
          slots.taken === 0 &&
          (await upstream.calls()).open === 0 &&
          connections.every(({ server }) => server.destroyed),
        240_000,
      );
      for (const { client: socket } of connections) socket.destroy();
    },
  );

  await t.test('a stream that is read slowly and a stream that is silent continue', async (t) => {
    await upstream.configure({ chunks: 3, chunkIntervalMs: UNREAD_MS });
    const { rest } = await openStream(client, '/chat', { message: 'Hi', stream: true }, { key });
    t.equal((await rest()).at(-1)?.event, 'done');

    await upstream.configure({ chunks: 20_000, chunkSize: 50_000 });
    const { client: reader, server } = await deaf(
      requestOf('/chat', { message: 'Hi', stream: true }, authorization),
    );
    await eventually('the stream is waiting for its reader', async () => server.writableLength > 0);
    // Each pause is shorter than the deadline, but all together are longer.
    for (let turn = 0; turn < 10; turn += 1) {
      await new Promise((resolve) => setTimeout(resolve, UNREAD_MS / 6));
      reader.read(1_000_000);
    }
    t.notOk(server.destroyed);
    reader.destroy();
    await eventually('the stream has ended', async () => slots.taken === 0, 20_000);
  });

  await t.test('the connection of an unread response or replay is closed', async (t) => {
    await upstream.configure({ chunks: 1900, chunkSize: 1000 });
    for (const stream of [false, true]) {
      const headers = { 'idempotency-key': randomUUID() };
      const body = { message: 'Hi', stream };
      t.equal((await client.post('/chat', body, { key, headers })).status, 200);
      // More than the system buffers for a connection.
      const requests = requestOf('/chat', body, {
        ...authorization,
        'Idempotency-Key': headers['idempotency-key'],
      });
      const { client: socket, server } = await deaf(requests.repeat(12));
      await eventually('a response is waiting', async () => server.writableLength > 0);
      t.notOk(server.destroyed);
      await eventually('the connection is closed', async () => server.destroyed, 120_000);
      socket.destroy();
    }
  });
});
