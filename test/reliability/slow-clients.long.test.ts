// Reliability test 48: slow clients get a response and are disconnected in bounded time, without delaying others.
import { connect } from 'node:net';
import t from 'tap';
import { startCluster } from '../support/replicas.ts';

const { client, replicas } = await startCluster(t, { count: 1 });
const port = Number(new URL(replicas[0]?.origin ?? '').port);
const owner = await client.signUp();

type Outcome = { received: string; seconds: number };

/** Sends the beginning at once, and then a byte per second until the service disconnects. It never closes its end. */
function drip(beginning: string, byte = 'x'): Promise<Outcome> {
  const startedAt = performance.now();
  return new Promise((resolve) => {
    const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true }, () => socket.write(beginning));
    let received = '';
    const timer = setInterval(() => socket.write(byte), 1000);
    socket.on('data', (data) => {
      received += data;
    });
    socket.on('error', () => {});
    // A client that sends nothing gets no other sign of the disconnect.
    socket.on('end', () => byte === '' && socket.end());
    socket.on('close', () => {
      clearInterval(timer);
      resolve({ received, seconds: (performance.now() - startedAt) / 1000 });
    });
  });
}

const head = (more: string) =>
  `POST /api/v1/chat HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n${more}`;

const outcomes = {
  nothing: drip('', ''),
  head: drip(head('X-Slow: ')),
  requestLine: drip('GET /'),
  body: drip(head(`Cookie: ${owner.cookie}\r\nContent-Length: 100000\r\n\r\n{"message":"`)),
  chunks: drip(head(`Cookie: ${owner.cookie}\r\nTransfer-Encoding: chunked\r\n\r\n`), '1\r\nx\r\n'),
  refusedBody: drip(head('Content-Length: 100000\r\n\r\n{"message":"')),
};

t.test('hundreds of slow requests do not delay other requests', async (t) => {
  const slow = Array.from({ length: 300 }, () => drip(head('X-Slow: ')));
  for (let n = 0; n < 20; n += 1) {
    const startedAt = performance.now();
    t.equal((await client.get('/account', { cookie: owner.cookie })).status, 200);
    t.ok(performance.now() - startedAt < 9000);
    // Spreads the requests over the time of the slow ones.
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  const longest = Math.max(...(await Promise.all(slow)).map(({ seconds }) => seconds));
  t.ok(longest < 60, `the last connection was closed after ${longest.toFixed(1)} s`);
});

for (const name of ['head', 'requestLine', 'nothing'] as const) {
  t.test(`${name}: a slow client is disconnected after 10 s or at the next check after that`, async (t) => {
    const { received, seconds } = await outcomes[name];
    t.ok(seconds > 9 && seconds < 60, `${seconds.toFixed(1)} s`);
    if (name !== 'nothing') t.match(received, /^HTTP\/1\.1 400 [\s\S]*"code":"invalidRequest"/);
  });
}

for (const name of ['body', 'chunks', 'refusedBody'] as const) {
  t.test(`48: ${name}: a slow client is disconnected in bounded time with one response`, async (t) => {
    const { received, seconds } = await outcomes[name];
    t.ok(seconds < 60, `${seconds.toFixed(1)} s`);
    if (name === 'refusedBody') t.match(received, /^HTTP\/1\.1 401 /);
    else {
      t.ok(seconds > 9, `${seconds.toFixed(1)} s: a slow body is allowed about this long`);
      t.match(received, /^HTTP\/1\.1 400 [\s\S]*"code":"invalidRequest"[\s\S]*too slowly/);
    }
    t.equal(received.match(/HTTP\/1\.1 \d/g)?.length, 1, 'one response');
  });
}

t.test('nothing was charged', async (t) => {
  t.equal((await client.get('/usage', { cookie: owner.cookie })).body.used.chat, 0);
});
