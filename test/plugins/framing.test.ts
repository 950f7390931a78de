// Reliability tests 2 and 45: requests that two parsers could interpret differently.
import { connect } from 'node:net';
import t from 'tap';
import { startTestService } from '../support/service.ts';
import { startUpstream } from '../support/upstream/client.ts';

const { port } = await startTestService(t, 'postgres');

/** Sends raw bytes. Returns the data received until the service closes, or after enough time for a second response. */
const send = (text: string, waitMs = 1500) =>
  new Promise<string>((resolve, reject) => {
    const socket = connect(port, '127.0.0.1', () => socket.write(text));
    let received = '';
    socket.on('data', (data) => {
      received += data;
    });
    socket.on('close', () => resolve(received));
    socket.on('error', reject);
    setTimeout(() => socket.destroy(), waitMs).unref();
  });

const json = '{"email":"nobody@example.com","password":"wrong password"}';
const size = Buffer.byteLength(json);
const login = (headers: string, body: string) =>
  `POST /api/v1/auth/login HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n${headers}\r\n\r\n${body}`;
const plans = (headers: string) => `GET /api/v1/plans HTTP/1.1\r\n${headers}\r\n\r\n`;
const chunked = `${size.toString(16)}\r\n${json}\r\n0\r\n\r\n`;

const refused: Record<string, string> = {
  'Content-Length beside Transfer-Encoding': login(
    `Content-Length: ${size}\r\nTransfer-Encoding: chunked`,
    chunked,
  ),
  'Content-Length twice, the same': login(`Content-Length: ${size}\r\nContent-Length: ${size}`, json),
  'Content-Length twice, different': login(`Content-Length: ${size}\r\nContent-Length: 2`, json),
  'Content-Length as a list': login(`Content-Length: ${size}, ${size}`, json),
  'a negative Content-Length': login('Content-Length: -1', json),
  'Transfer-Encoding twice': login('Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked', chunked),
  'Transfer-Encoding that does not end in chunked': login('Transfer-Encoding: chunked, identity', chunked),
  'a bare LF after the request line': 'GET /api/v1/plans HTTP/1.1\nHost: x\n\n',
  'a bare LF between headers': plans('Host: x\nX-Other: y'),
  'a bare CR in a header': plans('Host: x\rX-Other: y'),
  'a bare LF in a chunk': login('Transfer-Encoding: chunked', `${size.toString(16)};\n${json}\r\n0\r\n\r\n`),
  'a NUL in a header': plans('Host: x\r\nX-Other: a\0b'),
  'a header that continues on the next line': plans('Host: x\r\nX-Other: a\r\n b'),
  'a space before the colon': plans('Host: x\r\nX-Other : a'),
  'Host twice': plans('Host: x\r\nHost: y'),
  'Host twice, the same': plans('Host: x\r\nhost: x'),
  'no Host': plans('X-Other: a'),
  'headers of 20 KB': plans(`Host: x\r\nX-Other: ${'a'.repeat(20_000)}`),
  'bytes that are not HTTP': '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n',
};

t.test('well-formed variants of these requests are accepted', async (t) => {
  t.match(await send(login(`Content-Length: ${size}`, json)), /^HTTP\/1\.1 401 [\s\S]*invalidLogin/);
  t.match(await send(login('Transfer-Encoding: chunked', chunked)), /^HTTP\/1\.1 401 [\s\S]*invalidLogin/);
  t.match(await send(plans('Host: x\r\nX-Other: y')), /^HTTP\/1\.1 200 /);
  t.match(await send('GET /api/v1/plans HTTP/1.0\r\n\r\n'), /^HTTP\/1\.[01] 200 /, 'HTTP/1.0 needs no Host');
});

// All are sent at once, because each lasts until the service closes its connection.
for (const [title, answered] of Object.entries(refused).map(
  ([title, text]) => [title, send(text)] as const,
)) {
  t.test(`one response, 400 invalidRequest: ${title}`, async (t) => {
    const answer = await answered;
    t.match(answer, /^HTTP\/1\.1 400 /);
    t.equal(answer.match(/HTTP\/1\.1 \d/g)?.length, 1, answer);
    const [head = '', body = ''] = answer.split('\r\n\r\n', 2);
    t.match(head, /content-type: application\/json/i);
    t.match(head, /cache-control: no-store/i);
    const { error } = JSON.parse(body);
    t.match(error, { code: 'invalidRequest', type: 'invalid_request_error', param: null });
    t.match(head.toLowerCase(), `x-request-id: ${error.request_id}`);
  });
}

t.test('the message tells headers that are too large from invalid HTTP', async (t) => {
  const [large, invalid] = await Promise.all([
    send(plans(`Host: x\r\nX-Other: ${'a'.repeat(20_000)}`)),
    send('no HTTP at all\r\n\r\n'),
  ]);
  t.match(large, 'The URL and the headers of the request are too large. Shorten them.');
  t.match(invalid, 'The request is not valid HTTP.');
});

t.test('Host twice: 400 also on pages and unknown paths', async (t) => {
  const paths = ['/', '/docs', '/nothing-here', '/api/v1/nothing-here', '/healthz'];
  const answers = await Promise.all(
    paths.map((path) => send(`GET ${path} HTTP/1.1\r\nHost: x\r\nHost: y\r\nConnection: close\r\n\r\n`)),
  );
  for (const [index, path] of paths.entries()) t.match(answers[index], /^HTTP\/1\.1 400 /, path);
});

t.test('invalid bytes from the client do not write an error into a stream that has started', async (t) => {
  const upstream = await startUpstream({ chunks: 30, chunkIntervalMs: 50 });
  t.teardown(() => upstream.stop());
  const { client, port } = await startTestService(t, 'postgres', { CHAT_URL: upstream.url });
  const { cookie } = await client.signUp();
  const body = '{"message":"Hello","stream":true,"store":false}';
  const socket = connect(port, '127.0.0.1');
  let received = '';
  let isSent = false;
  socket.on('data', (data) => {
    received += data;
    if (!isSent && received.includes('event: delta')) {
      isSent = true;
      socket.write('no HTTP at all\r\n\r\n');
    }
  });
  const closed = new Promise((resolve) => socket.once('close', resolve));
  socket.write(
    `POST /api/v1/chat HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nCookie: ${cookie}\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
  );
  await closed;
  t.ok(isSent);
  t.match(received, /^HTTP\/1\.1 200 /);
  t.notMatch(received, 'HTTP/1.1 400');
});

t.test('an unknown Expect value is ignored', async (t) => {
  const answer = await send(plans('Host: x\r\nExpect: 200-ok\r\nConnection: close'));
  t.match(answer, /^HTTP\/1\.1 200 OK\r\n/);
  t.match(answer, /\r\ncache-control: no-store\r\n/i);
});
