// Clients that do not read, and clients that open too many streams. Reliability tests 49 and 50.
import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import t from 'tap';
import { type OpenStream, openStream } from '../support/event-reader.ts';
import { onEachDatabase } from '../support/service.ts';
import { lastChargeBecomes } from '../support/spending.ts';
import { surfaces } from '../support/surfaces.ts';
import { startUpstream } from '../support/upstream/client.ts';
import { eventually } from '../support/upstream/engine.ts';

const MIB = 1024 * 1024;
const upstream = await startUpstream();
t.teardown(() => upstream.stop());
t.beforeEach(() => upstream.reset());

onEachDatabase(
  t,
  { CHAT_URL: upstream.url, STREAMS_PER_ACCOUNT: '2' },
  async (t, service) => {
    const { calls: slots, client, port } = service;
    const owner = await client.signUp();
    const { key } = await client.createKey(owner);
    const messages = [{ role: 'user', content: 'Hi' }];

    await t.test('a client that never reads pauses the upstream, so memory is bounded', async (t) => {
      await upstream.configure({ chunks: 10_000_000, chunkSize: 1000 });
      for (const [path, body] of [
        ['/chat', { message: 'Hi', stream: true }],
        ...surfaces.map(
          ({ body, longest, path }) => [path, { ...body('Hi', { stream: true }), ...longest }] as const,
        ),
      ] as const) {
        await upstream.reset();
        await upstream.configure({ chunks: 10_000_000, chunkSize: 1000 });
        const sent = JSON.stringify(body);
        const socket = connect(port, '127.0.0.1');
        await once(socket, 'connect');
        socket.pause();
        socket.write(
          [
            `POST /api/v1${path} HTTP/1.1`,
            'Host: localhost',
            `Authorization: Bearer ${key}`,
            'Content-Type: application/json',
            `Content-Length: ${sent.length}`,
            '',
            sent,
          ].join('\r\n'),
        );
        let bytes = -1;
        await eventually(
          'the upstream stops writing',
          async () => {
            const before = bytes;
            bytes = (await upstream.calls()).bytes;
            await pause(500);
            return bytes > 0 && bytes === before;
          },
          10_000,
        );
        // Little more than the kernel buffers of two connections.
        t.ok(bytes < 24 * MIB, `${path}: the upstream wrote ${(bytes / MIB).toFixed(1)} MiB`);
        socket.destroy();
        await eventually(
          'the upstream request is aborted',
          async () => (await upstream.calls()).aborted === 1,
        );
        await lastChargeBecomes(service, owner.accountId, { state: 'final', status: 499 });
        await eventually('the slot is released', async () => slots.taken === 0);
      }
    });

    await t.test(
      '429 tooManyStreams: a stream over the limit, across all keys and the web, is not charged',
      async (t) => {
        await upstream.configure({ chunks: 1000, chunkIntervalMs: 50 });
        const second = await client.createKey(owner);
        const used = async () => (await client.get('/usage', { key })).body.used.chat;
        const open = [
          await openStream(client, '/chat', { message: 'Hi', stream: true }, { key }),
          await openStream(client, '/chat/completions', { messages, stream: true }, { key: second.key }),
        ];
        const before = await used();
        const { chat } = await upstream.calls();
        for (const credentials of [{ key }, { key: second.key }, { cookie: owner.cookie }]) {
          const answer = await client.post('/chat', { message: 'Hi', stream: true }, credentials);
          t.match(answer, {
            status: 429,
            body: { error: { code: 'tooManyStreams', type: 'rate_limit_error' } },
          });
          t.equal(answer.headers.get('retry-after'), '1');
        }
        for (const { body, path } of surfaces)
          t.match(await client.post(path, body('Hi', { stream: true }), { key }), { status: 429 }, path);
        t.equal(await used(), before);
        t.equal((await upstream.calls()).chat, chat, 'the upstream receives no request');
        const stranger = await client.createKey(await client.signUp());
        const theirs = await openStream(client, '/chat', { message: 'Hi', stream: true }, stranger);
        t.equal(theirs.response.status, 200, 'another account has its own limit');
        for (const { leave } of [...open, theirs]) leave();
        await eventually('the slots are released', async () => slots.taken === 0, 1000);
      },
    );

    await t.test(
      'a slot is released after a complete reply, an error, a failure before the first output, or a rejection',
      async (t) => {
        const stream = { message: 'Hi', stream: true };
        const outcomes: [Parameters<typeof upstream.configure>[0], unknown, number][] = [
          [{}, stream, 200],
          [{ chunks: 9, fault: 'truncate', faultAfter: 2 }, stream, 200],
          [{ fault: 'status', status: 500 }, stream, 502],
          [{}, { ...stream, model: 'nope' }, 404],
        ];
        for (const [settings, body, status] of outcomes) {
          await upstream.configure(settings);
          // More often than there are slots.
          for (let time = 0; time < 3; time += 1)
            t.equal((await client.post('/chat', body, { key })).status, status);
          t.equal(slots.taken, 0);
        }
      },
    );

    await t.test('a client that has read the last event can open the next stream', async (t) => {
      for (let time = 0; time < 10; time += 1) {
        const both: OpenStream[] = await Promise.all(
          [1, 2].map(() => openStream(client, '/chat', { message: 'Hi', stream: true }, { key })),
        );
        for (const { next, response } of both) {
          t.equal(response.status, 200);
          for (let event = await next(); event?.event !== 'done'; event = await next());
        }
      }
    });
  },
  { answerLimits: { characters: 1e9, milliseconds: 600_000 } },
);
