// Contract section 6: limits on a body before its content is validated. Reliability tests 57 and 58.
import t from 'tap';
import { operatorEnv, signInOperator } from '../support/operator.ts';
import { codeOf, startRequest, statusOf } from '../support/raw-request.ts';
import { startTestService } from '../support/service.ts';

t.setTimeout(180_000);

const KIB = 1024;
const MIB = 1024 * KIB;
const service = await startTestService(t, 'postgres', { BODY_MEMORY_MB: '64', ...operatorEnv });
const { app, client, port } = service;
const owner = await signInOperator(service);
const { key } = await client.createKey(owner);

type Document = {
  paths: Record<string, Record<string, { security?: object[]; requestBody?: { required?: boolean } }>>;
};
const operations = Object.entries((app.swagger() as unknown as Document).paths).flatMap(([path, item]) =>
  Object.entries(item).flatMap(([method, { requestBody, security = [] }]) =>
    method === 'get' ? [] : [{ method: method.toUpperCase(), path, requestBody, security }],
  ),
);

const large = new Set(['/chat', '/chat/completions', '/responses', '/messages', '/messages/count_tokens']);
/** The limits in contract section 6. */
function limitOf(path: string, isSession: boolean): number {
  const route = path.replace('/api/v1', '');
  if (route.startsWith('/auth/')) return 4 * KIB;
  if (route === '/keys/report-leak') return 64 * KIB;
  if (large.has(route)) return 20 * MIB;
  if (route === '/embeddings') return 8 * MIB;
  return isSession ? 16 * KIB : MIB;
}

const targetOf = (path: string) =>
  path.replace('{prefix}', 'parley_00000000').replace(/\{\w+\}/g, '01932f5e-7c1a-7b3e-9d2f-3a5b7c9d1e0f');

t.ok(operations.length > 15, `${operations.length} operations that may have a body`);

for (const { method, path, security } of operations) {
  const names = security.flatMap((one) => Object.keys(one));
  const isSession = names.includes('session') && !names.includes('apiKey');
  const limit = limitOf(path, isSession);
  const target = `${method} ${targetOf(path)}`;
  const credential: Record<string, string> = names.includes('apiKey')
    ? { Authorization: `Bearer ${key}` }
    : { Cookie: owner.cookie };

  t.test(`57: ${method} ${path}: 413 over ${limit / KIB} KiB, with Content-Length or chunked`, async (t) => {
    const announced = startRequest(port, target, { ...credential, 'Content-Length': String(limit + 1) });
    const answer = await announced.answer;
    t.equal(statusOf(answer), 413, 'Content-Length over the limit: refused before the body is read');
    t.equal(codeOf(answer), 'payloadTooLarge');
    t.match(answer, /\r\nconnection: close/i);
    announced.socket.destroy();

    const chunked = startRequest(port, target, { ...credential, 'Transfer-Encoding': 'chunked' });
    void chunked.send(`${(limit + 1).toString(16)}\r\n`);
    void chunked.send(Buffer.alloc(limit + 1, ' '));
    t.equal(statusOf(await chunked.answer), 413, 'chunked: refused at the limit');
    chunked.socket.destroy();

    const whole = startRequest(port, target, { ...credential, 'Content-Length': String(limit) });
    void whole.send(Buffer.alloc(limit, ' '));
    t.not(statusOf(await whole.answer), 413, 'exactly the limit is accepted');
    whole.socket.destroy();

    if (names.length === 0) return;
    const anonymous = startRequest(port, target, { 'Content-Length': String(limit + 1) });
    t.equal(statusOf(await anonymous.answer), 401, 'credentials are checked first');
    anonymous.socket.destroy();
  });
}

t.test(
  '57: a client that keeps sending after the 413 can still read the response, and is then disconnected',
  { timeout: 60_000 },
  async (t) => {
    const { answer, send, socket } = startRequest(port, 'POST /api/v1/auth/login', {
      // More than the test sends, so that only the service can end the request.
      'Content-Length': String(2 ** 40),
    });
    // Keeps sending after the service has ended its side.
    socket.allowHalfOpen = true;
    const closed = new Promise((resolve) => socket.once('close', resolve));
    const piece = Buffer.alloc(256 * KIB);
    void send(piece);
    t.equal(statusOf(await answer), 413);
    // More than the system buffers for a closed connection.
    for (let sent = 0; sent < 16 * MIB; sent += piece.length) {
      const error = await new Promise((resolve) => socket.write(piece, resolve));
      if (error) return t.fail(`closed while the client was sending: ${error}`);
    }
    const flood = setInterval(() => void send(piece), 5);
    await closed;
    clearInterval(flood);
    t.pass('disconnected');
  },
);

t.test('57: Expect: 100-continue: a body over the limit gets 413 instead of 100 Continue', async (t) => {
  const head = { Authorization: `Bearer ${key}`, Expect: '100-continue' };
  const refused = startRequest(port, 'POST /api/v1/search', {
    ...head,
    'Content-Length': String(2 * MIB),
  });
  t.equal(statusOf(await refused.answer), 413);
  refused.socket.destroy();
  const body = JSON.stringify({ query: 'keys' });
  const taken = startRequest(port, 'POST /api/v1/search', {
    ...head,
    'Content-Length': String(body.length),
  });
  await new Promise((resolve) => taken.socket.once('data', resolve));
  void taken.send(body);
  t.match(await new Promise((resolve) => taken.socket.once('data', resolve)), /^HTTP\/1\.1 200/);
  taken.socket.destroy();
});

t.test(
  '58: up to 100,000 braces, brackets, and colons outside strings are accepted; more are 400',
  async (t) => {
    const ask = (more: number, inside = '') =>
      client.request('POST', '/chat/completions', {
        key,
        raw: `{"messages":[{"role":"user","content":"${inside}Hi"}],"x":[${'{},'.repeat(49_994)}${'[],'.repeat(more)}1]}`,
      });
    // The rest of the body has 12 of them.
    t.equal((await ask(0)).status, 200);
    t.equal((await ask(0, '{}[]:'.repeat(40_000))).status, 200, 'inside strings, they do not count');
    t.match(await ask(20), { status: 400, body: { error: { code: 'invalidRequest', message: /100,000/ } } });
  },
);

t.test('58: up to 1,000,000 commas outside strings are accepted; more are 400', async (t) => {
  const ask = (numbers: number) =>
    client.request('POST', '/chat/completions', {
      key,
      raw: `{"messages":[{"role":"user","content":"Hi"}],"x":[${'1,'.repeat(numbers)}1]}`,
    });
  t.equal((await ask(999_998)).status, 200);
  t.match(await ask(999_999), { status: 400, body: { error: { message: /1,000,000/ } } });
});

t.test('58: a body over 1 MiB is validated like a small one', async (t) => {
  const ask = (more: string) =>
    client.request('POST', '/chat/completions', {
      key,
      raw: `{"messages":[{"role":"user","content":"${'x'.repeat(2 * MIB)}"}]${more}}`,
    });
  t.equal((await ask('')).status, 200);
  t.match(await ask(',"n":9'), { status: 400, body: { error: { param: 'n' } } });
  t.equal((await ask(',"y":"\\u0000"')).status, 400, 'NUL');
  t.equal((await ask(',"y":"\\ud800"')).status, 400, 'a lone surrogate');
  t.equal((await ask(',"__proto__":{}')).status, 400, '__proto__');
  t.equal((await ask(',')).status, 400, 'broken JSON');
  t.match(await ask(`,"y":${'['.repeat(40)}${']'.repeat(40)}`), {
    status: 400,
    body: { error: { message: /nested/ } },
  });
});

t.test('21: an operation without required body fields accepts a request without a body', async (t) => {
  for (const { method, path, requestBody, security } of operations) {
    if (requestBody?.required || security.length === 0) continue;
    const target = targetOf(path).replace('/api/v1', '');
    if (target === '/auth/logout') continue;
    for (const raw of [undefined, '']) {
      const { status } = await client.request(method, target, {
        cookie: owner.cookie,
        ...(raw === undefined ? {} : { raw, headers: { 'content-type': 'application/json' } }),
      });
      t.ok(
        [200, 204, 404].includes(status),
        `${method} ${path} ${raw === undefined ? 'no type' : 'JSON'}: ${status}`,
      );
    }
  }
});

t.test(
  '21: POST /keys/:id/rotate works without a body, and DELETE works with a JSON content type and no body',
  async (t) => {
    const { id } = await client.createKey(owner);
    for (const options of [{}, { raw: '' }, { raw: '{}' }])
      t.equal(
        (await client.request('POST', `/keys/${id}/rotate`, { cookie: owner.cookie, ...options })).status,
        200,
      );
    for (const raw of ['null', '[]', '{"grace_seconds":"1"}'])
      t.equal(
        (await client.request('POST', `/keys/${id}/rotate`, { cookie: owner.cookie, raw })).status,
        400,
        raw,
      );
    t.equal((await client.request('DELETE', `/keys/${id}`, { cookie: owner.cookie, raw: '' })).status, 204);
    t.equal((await client.request('POST', '/auth/logout', { cookie: owner.cookie, raw: '' })).status, 204);
  },
);

t.test('a body sent in chunks of one byte is refused after 10,000 chunks', async (t) => {
  const send = async (chunks: number) => {
    const { answer, send } = startRequest(port, 'POST /api/v1/keys/report-leak', {
      'Transfer-Encoding': 'chunked',
    });
    const text = JSON.stringify({ keys: ['x'.repeat(60)] }).padEnd(chunks);
    await send(`${[...text].map((byte) => `1\r\n${byte}\r\n`).join('')}0\r\n\r\n`);
    return answer;
  };
  t.equal(statusOf(await send(9000)), 202);
  const refused = await send(20_000);
  t.equal(statusOf(refused), 400);
  t.match(refused, /chunks of a few bytes/);
});
