import { createServer, type Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import t, { type Test } from 'tap';
import { progressOf, trackProgress } from '../../../src/engines/progress.ts';
import { createTransport } from '../../../src/engines/upstream/transport.ts';
import { startUpstream } from '../../support/upstream/client.ts';
import { asking, chatEngine, eventually, failure, KEY, never } from '../../support/upstream/engine.ts';

const upstream = await startUpstream();
t.teardown(() => upstream.stop());
t.beforeEach(() => upstream.reset());
const chat = chatEngine(upstream.url);

/** Starts a TCP server. */
async function rawServer(t: Test, onConnection: (socket: Socket) => void): Promise<number> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket.on('error', () => {}));
    onConnection(socket);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.teardown(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return (server.address() as { port: number }).port;
}

t.test(
  'the API key is sent as a Bearer token, and without a key there is no Authorization header',
  async (t) => {
    await chat.complete(asking('Hello'), never());
    t.equal((await upstream.onlyCall()).headers.authorization, `Bearer ${KEY}`);
    await upstream.reset();
    await chatEngine(upstream.url, { apiKey: '' }).complete(asking('Hello'), never());
    t.equal((await upstream.onlyCall()).headers.authorization, undefined);
  },
);

t.test('the URL may end in a slash and have a query string', async (t) => {
  await chatEngine(`${upstream.url}//?api-version=1`).complete(asking('Hello'), never());
  t.equal((await upstream.onlyCall()).path, '/v1/chat/completions?api-version=1');
});

t.test('connections are reused', async (t) => {
  const before = (await upstream.calls()).connections;
  const engine = chatEngine(upstream.url);
  for (let round = 0; round < 20; round += 1) await engine.complete(asking('Hello'), never());
  // undici reuses a connection only after a turn of the event loop, in which it may open a second one.
  t.ok((await upstream.calls()).connections - before <= 2);
});

t.test('a refused connection is upstreamError', async (t) => {
  await upstream.configure({ fault: 'refuse' });
  const error = await failure(chat.complete(asking('Hello'), never()));
  t.equal(error.code, 'upstreamError');
  t.match((error.options.cause as Error).message, /ECONNREFUSED/);
  t.equal(
    (await failure(chatEngine('http://no-such-host.invalid/v1').complete(asking('Hello'), never()))).code,
    'upstreamError',
    'a host name that does not resolve is upstreamError, too',
  );
});

t.test('a connection that is refused briefly is retried once', async (t) => {
  await upstream.configure({ fault: 'refuse' });
  const [completion] = await Promise.all([
    chatEngine(upstream.url).complete(asking('Hello'), never()),
    pause(30).then(() => upstream.configure({})),
  ]);
  t.equal(completion.choices[0]?.message.content, 'You said: Hello');
  t.equal((await upstream.calls()).chat, 1);
});

t.test('a request is not retried if the connection is lost after the request was written', async (t) => {
  await upstream.configure({ fault: 'reset' });
  const error = await failure(chat.complete(asking('Hello'), never()));
  t.equal(error.code, 'upstreamError');
  t.equal((await upstream.calls()).chat, 1);
});

t.test(
  'a keep-alive connection that the upstream closed is replaced without an error, and the request is sent once',
  async (t) => {
    const engine = chatEngine(upstream.url);
    await engine.complete(asking('one'), never());
    await upstream.configure({ fault: 'refuse' });
    await upstream.configure({});
    const completion = await engine.complete(asking('two'), never());
    t.equal(completion.choices[0]?.message.content, 'You said: two');
    t.equal((await upstream.calls()).chat, 2);
  },
);

t.test(
  'a request is sent at most once if the upstream closes a keep-alive connection just before its reuse',
  async (t) => {
    let requests = 0;
    const port = await rawServer(t, (socket) =>
      socket.on('data', () => {
        requests += 1;
        const body = JSON.stringify({ choices: [{ index: 0, message: { content: 'x' } }] });
        // Promises to stay open, then closes.
        socket.end(
          `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
        );
      }),
    );
    const engine = chatEngine(`http://127.0.0.1:${port}`);
    for (let round = 1; round <= 20; round += 1) {
      const outcome = await engine.complete(asking('x'), never()).then(
        () => 'answered',
        (error) => error.code,
      );
      t.ok(outcome === 'answered' || outcome === 'upstreamError', outcome);
      t.ok(requests <= round, 'no request is sent twice');
    }
  },
);

t.test('a connect timeout is upstreamTimeout', async (t) => {
  // Accepts connections, but never starts TLS.
  const port = await rawServer(t, () => {});
  const startedAt = performance.now();
  const error = await failure(
    chatEngine(`https://127.0.0.1:${port}`, { connectTimeoutMs: 200, firstByteTimeoutMs: 60_000 }).complete(
      asking('Hello'),
      never(),
    ),
  );
  t.equal(error.code, 'upstreamTimeout');
  t.ok(performance.now() - startedAt < 20_000, `${performance.now() - startedAt} ms`);
});

t.test('missing response headers are upstreamTimeout, and the connection is closed', async (t) => {
  await upstream.configure({ fault: 'hang' });
  const error = await failure(
    chatEngine(upstream.url, { firstByteTimeoutMs: 150, idleTimeoutMs: 10_000 }).complete(
      asking('Hello'),
      never(),
    ),
  );
  t.equal(error.code, 'upstreamTimeout');
  await eventually('the upstream request is aborted', async () => (await upstream.calls()).aborted === 1);
});

t.test('the idle timeout does not apply before the first byte of the body', async (t) => {
  await upstream.configure({ firstChunkDelayMs: 300 });
  const engine = chatEngine(upstream.url, { firstByteTimeoutMs: 20_000, idleTimeoutMs: 100 });
  const first = await engine.stream(asking('Hello'), never())[Symbol.asyncIterator]().next();
  t.equal(first.done, false);
});

t.test('headers without a byte of the body are upstreamTimeout', async (t) => {
  await upstream.configure({ fault: 'stall', faultAfter: 0, bare: true });
  const engine = chatEngine(upstream.url, { firstByteTimeoutMs: 150, idleTimeoutMs: 10_000 });
  t.equal(
    (await failure(engine.stream(asking('Hello'), never())[Symbol.asyncIterator]().next())).code,
    'upstreamTimeout',
  );
});

t.test('a response that is too large is upstreamError, and the rest is not read', async (t) => {
  await upstream.configure({ fault: 'giant' });
  const error = await failure(
    chatEngine(upstream.url, { maxAnswerBytes: 1_000_000 }).complete(asking('Hello'), never()),
  );
  t.equal(error.code, 'upstreamError');
  await eventually('the upstream request is aborted', async () => (await upstream.calls()).aborted === 1);
  t.ok((await upstream.calls()).bytes < 20_000_000);
});

t.test('an error response with an incomplete body is classified by its status', async (t) => {
  const port = await rawServer(t, (socket) => {
    socket.on('data', () =>
      socket.write(
        'HTTP/1.1 429 Too Many\r\ncontent-type: application/json\r\ncontent-length: 1000000\r\nretry-after: 3\r\n\r\n',
      ),
    );
    socket.on('data', () => socket.write('x'.repeat(200_000)));
  });
  const error = await failure(chatEngine(`http://127.0.0.1:${port}`).complete(asking('Hello'), never()));
  t.equal(error.code, 'overloaded');
  t.same(error.headers, { 'retry-after': '3' });
});

t.test('103 Early Hints is skipped', async (t) => {
  const body = '{"choices":[{"message":{"content":"x"}}]}';
  const port = await rawServer(t, (socket) =>
    socket.on('data', () => {
      socket.write('HTTP/1.1 103 Early Hints\r\nlink: </style.css>; rel=preload\r\n\r\n');
      socket.write(
        `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
      );
    }),
  );
  const completion = await chatEngine(`http://127.0.0.1:${port}`).complete(asking('Hello'), never());
  t.equal(completion.choices[0]?.message.content, 'x');
});

t.test('a server that does not speak HTTP is upstreamError', async (t) => {
  const port = await rawServer(t, (socket) => socket.write('220 mail.example.com ESMTP\r\n'));
  t.equal(
    (await failure(chatEngine(`http://127.0.0.1:${port}`).complete(asking('Hello'), never()))).code,
    'upstreamError',
  );
});

t.test('an abort before the response closes the connection immediately and throws its reason', async (t) => {
  await upstream.configure({ fault: 'hang' });
  const gone = new AbortController();
  const patient = chatEngine(upstream.url, { firstByteTimeoutMs: 60_000, idleTimeoutMs: 60_000 });
  const asked = patient.complete(asking('Hello'), gone.signal);
  await eventually('the upstream receives the request', async () => (await upstream.calls()).chat === 1);
  const at = Date.now();
  gone.abort(new Error('The client disconnected.'));
  await t.rejects(asked, { message: 'The client disconnected.' });
  await eventually('the upstream request is aborted', async () => (await upstream.calls()).aborted === 1);
  const { abortedAt } = await upstream.onlyCall();
  t.ok((abortedAt ?? Number.POSITIVE_INFINITY) - at < 1000, `${(abortedAt ?? 0) - at} ms`);
});

t.test('a signal that is already aborted sends no request', async (t) => {
  await t.rejects(chat.complete(asking('Hello'), AbortSignal.abort(new Error('Left.'))), {
    message: 'Left.',
  });
  t.equal((await upstream.calls()).calls, 0);
});

t.test('an abort while connecting throws immediately', async (t) => {
  const port = await rawServer(t, () => {});
  const gone = new AbortController();
  const asked = chatEngine(`https://127.0.0.1:${port}`, { connectTimeoutMs: 60_000 }).complete(
    asking('Hello'),
    gone.signal,
  );
  await pause(20);
  const startedAt = performance.now();
  gone.abort(new Error('Left.'));
  await t.rejects(asked, { message: 'Left.' });
  t.ok(performance.now() - startedAt < 20_000);
});

t.test('a top-level JSON array is read as the data of a list', async (t) => {
  await upstream.configure({ models: [{ id: 'a' }] });
  const transport = createTransport({ url: upstream.url });
  t.same(await transport.json({ method: 'GET', path: '/models', signal: never() }), { data: [{ id: 'a' }] });
});

t.test(
  'the first-byte timeout starts when the request is sent, not while it waits for a connection',
  async (t) => {
    const firstByteTimeoutMs = 1000;
    const narrow = chatEngine(upstream.url, { connections: 1, firstByteTimeoutMs, idleTimeoutMs: 60_000 });
    await upstream.configure({ fault: 'stall', faultAfter: 1 });
    const holder = narrow.stream(asking('Hello there'), never())[Symbol.asyncIterator]();
    t.notOk((await holder.next()).done);
    await upstream.configure({ fault: 'hang' });
    const signal = never();
    trackProgress(signal);
    const waiting = failure(narrow.complete(asking('Hello'), signal));
    await eventually('the request waits for a connection', async () => progressOf(signal)?.isQueued === true);
    await pause(50);
    await holder.return?.();
    const { code, options } = await waiting;
    t.equal(code, 'upstreamTimeout');
    t.match((options.cause as Error).message, `No first byte within ${firstByteTimeoutMs} ms.`);
    t.ok((progressOf(signal)?.queuedMs ?? 0) > 40, 'the time in the queue is measured separately');
  },
);
