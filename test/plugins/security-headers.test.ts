import { connect } from 'node:net';
import t from 'tap';
import { version } from '../../src/project.ts';
import { startTestService } from '../support/service.ts';

const NOTHING_LOADS = "default-src 'none';base-uri 'none';form-action 'none';frame-ancestors 'none'";

/** Sends raw bytes that `fetch` would refuse to send, and reads the head of the response. */
async function raw(port: number, request: string): Promise<{ status: number; headers: Headers }> {
  const socket = connect(port, '127.0.0.1').setEncoding('latin1');
  socket.end(request);
  let text = '';
  for await (const piece of socket) text += piece;
  const [first = '', ...lines] = (text.split('\r\n\r\n', 1)[0] ?? '').split('\r\n');
  return {
    status: Number(first.split(' ')[1]),
    headers: new Headers(lines.map((line) => line.split(': ', 2) as [string, string])),
  };
}

const service = await startTestService(t, 'postgres');
const { client, port } = service;
const owner = await client.signUp();
const { key } = await client.createKey(owner);

t.test('no API response may be cached, load resources, or reveal the software', async (t) => {
  const get = (path: string) => `GET ${path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`;
  const answers: [number, { status: number; headers: Headers }][] = [
    [200, await client.get('/plans')],
    [200, await client.get('/usage', { key })],
    [200, await client.get('/keys', { cookie: owner.cookie })],
    [200, await client.post('/chat', { message: 'Hi', stream: true }, { key })],
    [201, await client.post('/keys', { name: 'x', scopes: ['chat'] }, { cookie: owner.cookie })],
    [400, await client.post('/chat', {}, { key })],
    [401, await client.get('/usage')],
    [403, await client.get('/keys', { key })],
    [404, await client.get('/nothing')],
    [405, await client.request('PUT', '/chat')],
    [405, await raw(port, 'TRACE /api/v1/chat HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n')],
    [
      415,
      await client.request('POST', '/chat', { raw: 'a=1', key, headers: { 'content-type': 'text/plain' } }),
    ],
    // Refused by the router and by Node's HTTP parser.
    [400, await raw(port, get('/api/v1/%E0%A4%A'))],
    [400, await raw(port, 'GET /api/v1/usage HTTP/1.1\r\nHost: a\r\nBad Header: x\r\n\r\n')],
    [400, await raw(port, 'nonsense\r\n\r\n')],
    [204, await client.post('/auth/logout', undefined, { cookie: owner.cookie })],
  ];
  for (const [expected, { headers, status }] of answers) {
    t.equal(status, expected);
    t.equal(headers.get('cache-control'), 'no-store', String(status));
    t.equal(headers.get('content-security-policy'), NOTHING_LOADS, String(status));
    t.equal(headers.get('x-content-type-options'), 'nosniff', String(status));
    t.match(headers.get('permissions-policy'), /camera=\(\), .*microphone=\(\)/, String(status));
    t.ok(headers.get('x-request-id'), String(status));
    for (const name of ['x-powered-by', 'server', 'via', 'strict-transport-security'])
      t.equal(headers.get(name), null, `${status} ${name}`);
    t.notMatch(
      JSON.stringify([...headers]),
      new RegExp(`${version.replaceAll('.', '\\.')}|fastify|node`, 'i'),
    );
  }
});

t.test(
  "responses outside the API have the same headers, and each page sends only the pages' own policy",
  async (t) => {
    for (const path of ['//healthz', '//readyz', '//openapi.json', '//nothing']) {
      const { headers } = await client.get(path);
      t.equal(headers.get('content-security-policy'), NOTHING_LOADS, path);
      t.equal(headers.get('x-content-type-options'), 'nosniff', path);
      t.equal(headers.get('x-frame-options'), 'DENY', path);
      t.equal(headers.get('cross-origin-resource-policy'), 'same-origin', path);
    }
    for (const path of ['//', '//docs/guides', '//docs/guides/keys', '//docs/errors/notFound']) {
      const { headers } = await client.get(path);
      const policy = headers.get('content-security-policy') ?? '';
      t.match(policy, /style-src 'self'/, path);
      t.match(headers.get('permissions-policy'), /camera=\(\), .*clipboard-write=\(self\)$/, path);
      t.notMatch(policy, /unsafe|,/, path);
    }
  },
);

t.test('Strict-Transport-Security is sent only if PUBLIC_URL is https', async (t) => {
  const { client } = await startTestService(t, 'postgres', { PUBLIC_URL: 'https://chat.example.com' });
  for (const path of ['/plans', '/nothing', '//'])
    t.equal((await client.get(path)).headers.get('strict-transport-security'), 'max-age=31536000', path);
  const plain = await startTestService(t, 'postgres', { PUBLIC_URL: 'http://chat.example.com' });
  t.equal((await plain.client.get('/plans')).headers.get('strict-transport-security'), null);
});
