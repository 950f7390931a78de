// Reliability test 59: endless data from an upstream.
import { createServer, type Socket } from 'node:net';
import t, { type Test } from 'tap';
import { Bodies } from '../../../src/engines/upstream/bodies.ts';
import { Connections } from '../../../src/engines/upstream/connections.ts';
import { createUpstreamImages } from '../../../src/engines/upstream/images.ts';
import { createUpstreamSearch } from '../../../src/engines/upstream/search.ts';
import { startUpstream } from '../../support/upstream/client.ts';
import {
  asking,
  chatEngine,
  collect,
  eventually,
  failure,
  KEY,
  never,
} from '../../support/upstream/engine.ts';

const MIB = 1024 * 1024;
const upstream = await startUpstream();
t.teardown(() => upstream.stop());
t.beforeEach(() => upstream.reset());
/** Slow machines need time to read up to the size limits. */
const patient = { firstByteTimeoutMs: 60_000, idleTimeoutMs: 60_000 };
const chat = chatEngine(upstream.url, patient);

for (const fault of ['giant', 'comments', 'empty-chunks'] as const) {
  t.test(`an endless stream (${fault}) is upstreamError, and closes the connection`, async (t) => {
    await upstream.configure({ fault });
    const error = await failure(collect(chat.stream(asking('Hi'), never())));
    t.equal(error.code, 'upstreamError');
    await eventually('the upstream request is aborted', async () => (await upstream.calls()).aborted === 1);
    const { bytes } = await upstream.calls();
    t.ok(bytes < 64 * MIB, `the upstream sent ${(bytes / MIB).toFixed(1)} MiB`);
  });
}

t.test('endless whole responses are upstreamError: chat, images, search, models', async (t) => {
  await upstream.configure({ fault: 'members' });
  const images = createUpstreamImages({ url: upstream.url, apiKey: KEY, ...patient });
  const search = createUpstreamSearch({ url: upstream.searchUrl, ...patient });
  for (const [most, ask] of [
    [16, () => chat.complete(asking('Hi'), never())],
    [64, () => images.generate({ prompt: 'A fox' }, never())],
    [4, () => search.search('fox', 3, never())],
    [8, () => chat.models()],
  ] as const) {
    await upstream.reset();
    await upstream.configure({ fault: 'members' });
    const error = await failure(ask());
    t.equal(error.code, 'upstreamError');
    const { bytes } = await upstream.calls();
    t.ok(bytes < (most + 24) * MIB, `the upstream sent ${(bytes / MIB).toFixed(1)} MiB, limit ${most}`);
  }
});

t.test('headers of 1 MiB are upstreamError', async (t) => {
  await upstream.configure({ fault: 'headers' });
  t.equal((await failure(chat.complete(asking('Hi'), never()))).code, 'upstreamError');
  t.equal((await failure(collect(chat.stream(asking('Hi'), never())))).code, 'upstreamError');
});

/** Starts a server that sends the head of a response, then repeats a block for as long as the client reads. */
async function pouring(t: Test, type: string, block: string | Buffer): Promise<string> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
    const pour = () => {
      while (!socket.destroyed && socket.write(block));
      socket.once('drain', pour);
    };
    socket.once('data', () => {
      socket.write(`HTTP/1.1 200 OK\r\ncontent-type: ${type}\r\ntransfer-encoding: chunked\r\n\r\n`);
      pour();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.teardown(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as { port: number }).port}`;
}

t.test('a response in chunks of one byte uses less than 200 MiB of memory', async (t) => {
  const url = await pouring(t, 'application/json', '1\r\n"\r\n'.repeat(10_000));
  const before = process.memoryUsage().rss;
  let most = 0;
  const timer = setInterval(() => {
    most = Math.max(most, process.memoryUsage().rss - before);
  }, 10);
  const error = await failure(
    chatEngine(url, { ...patient, maxAnswerBytes: 4 * MIB }).complete(asking('Hi'), never()),
  );
  clearInterval(timer);
  t.equal(error.code, 'upstreamError');
  t.ok(most < 200 * MIB, `${(most / MIB).toFixed(0)} MiB`);
});

t.test('an endless stream of carriage returns is upstreamError in linear time', async (t) => {
  const line = ':\r'.repeat(16_000);
  const url = await pouring(t, 'text/event-stream', `${line.length.toString(16)}\r\n${line}\r\n`);
  const startedAt = process.cpuUsage();
  const error = await failure(collect(chatEngine(url, patient).stream(asking('Hi'), never())));
  const { user } = process.cpuUsage(startedAt);
  t.equal(error.code, 'upstreamError');
  t.ok(user < 10_000_000, `${(user / 1e6).toFixed(1)} s of CPU`);
});

t.test(
  'events are parsed with CR, CRLF, or LF line endings, even if each byte arrives separately',
  async (t) => {
    for (const end of ['\r', '\r\n', '\n']) {
      const chunk = (content: string, finish: string | null) =>
        `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content }, finish_reason: finish }] })}${end}${end}`;
      const text = `${chunk('a', null)}: comment${end}${end}${chunk('b', 'stop')}data: [DONE]${end}${end}`;
      const framed = [...text].map((byte) => `1\r\n${byte}\r\n`).join('');
      const server = createServer((socket) =>
        socket.once('data', () => {
          socket.write(
            'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n',
          );
          socket.end(`${framed}0\r\n\r\n`);
        }),
      );
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
      t.teardown(() => server.close());
      const engine = chatEngine(`http://127.0.0.1:${(server.address() as { port: number }).port}`);
      const chunks = await collect(engine.stream(asking('Hi'), never()));
      t.equal(
        chunks
          .flatMap(({ choices }) => choices)
          .map(({ delta }) => delta.content)
          .join(''),
        'ab',
        JSON.stringify(end),
      );
    }
  },
);

t.test('whole responses share a memory budget, and a response beyond it is overloaded', async (t) => {
  const bodies = new Bodies(100);
  const reading = (pieces: number) => ({
    aborted: false,
    async read() {
      if (pieces === 0) return new Promise<null>(() => {});
      pieces -= 1;
      return [Buffer.alloc(60)];
    },
    abort() {
      this.aborted = true;
    },
  });
  const [first, second] = [reading(1), reading(1)];
  bodies.textWithin(first as never, 1000).catch(() => {});
  await t.rejects(bodies.textWithin(second as never, 1000), { code: 'overloaded', statusCode: 503 });
  t.ok(second.aborted);
});

t.test(
  'connections are limited, as many requests queue in order, and any others are overloaded',
  async (t) => {
    const connections = new Connections(2);
    const [first, second] = [await connections.take(never(), 1000), await connections.take(never(), 1000)];
    const order: string[] = [];
    const gone = new AbortController();
    const leaving = connections.take(gone.signal, 1000);
    const third = connections.take(never(), 1000).then((release) => {
      order.push('third');
      return release;
    });
    await t.rejects(connections.take(never(), 1000), { code: 'overloaded', statusCode: 503 });
    gone.abort(new Error('The client disconnected.'));
    await t.rejects(leaving, { message: 'The client disconnected.' });
    const fourth = connections.take(never(), 1000).then((release) => {
      order.push('fourth');
      return release;
    });
    first();
    (await third)();
    (await fourth)();
    t.same(order, ['third', 'fourth']);
    second();
    const both = [await connections.take(never(), 1), await connections.take(never(), 1)];
    await t.rejects(
      connections.take(never(), 20),
      { code: 'overloaded' },
      'a request that waits too long is overloaded',
    );
    for (const release of both) release();
  },
);

t.test(
  'a slow upstream gets no more concurrent requests than its connections, including streams',
  async (t) => {
    await upstream.configure({ chunks: 5, chunkIntervalMs: 50, headersDelayMs: 200 });
    const engine = chatEngine(upstream.url, { ...patient, connections: 3 });
    const outcomes = Array.from({ length: 9 }, (_, n) =>
      (n % 2 ? engine.complete(asking('Hi'), never()) : collect(engine.stream(asking('Hi'), never()))).then(
        () => 'answered',
        (error) => error.code,
      ),
    );
    let most = 0;
    const timer = setInterval(async () => {
      most = Math.max(most, (await upstream.calls()).open);
    }, 20);
    const all = await Promise.all(outcomes);
    clearInterval(timer);
    t.equal(
      all.filter((outcome) => outcome === 'answered').length,
      6,
      'three run concurrently, and three wait',
    );
    t.equal(all.filter((outcome) => outcome === 'overloaded').length, 3);
    t.ok(most <= 3, `${most} concurrent requests`);
    await upstream.configure({});
    await engine.complete(asking('Hi'), never());
  },
);
