// Keys sent as `x-api-key`. Contract sections 3, 4, and 14.
import t from 'tap';
import { askMessage as ask, user } from '../support/messages.ts';
import { startRequest } from '../support/raw-request.ts';
import { onEachDatabase, plansFile } from '../support/service.ts';

onEachDatabase(t, plansFile(t, { chat: 1000 }), async (t, { client }) => {
  const owner = await client.signUp();
  const { cookie } = owner;
  const { key } = await client.createKey(owner);
  const other = await client.createKey(owner);
  const page = await client.createKey(owner, { allowed_origins: ['https://app.example.com'] });
  const post = (headers: Record<string, string>, path = '/messages') => client.post(path, ask(), { headers });

  await t.test(
    '200: x-api-key alone, with another scheme, or with the same key as a Bearer credential',
    async (t) => {
      const bearer = `Bearer ${key}`;
      for (const headers of [
        { 'x-api-key': key },
        { 'x-api-key': key, authorization: 'Basic YTpi' },
        { 'x-api-key': key, authorization: bearer },
        { 'x-api-key': '', authorization: bearer },
      ])
        t.equal((await post(headers)).status, 200, JSON.stringify(headers));
      t.equal((await post({ 'x-api-key': key }, '/messages/count_tokens')).status, 200);
    },
  );

  await t.test('400: two different keys, or two x-api-key headers', async (t) => {
    t.match(await post({ 'x-api-key': key, authorization: `Bearer ${other.key}` }), {
      status: 400,
      body: { type: 'error', error: { code: 'invalidRequest' } },
    });
    const { answer } = startRequest(Number(new URL(client.origin).port), 'POST /api/v1/messages', {
      'x-api-key': key,
      'X-Api-Key': key,
      'Content-Length': '0',
    });
    t.match(await answer, /^HTTP\/1\.1 400 [\s\S]*Send one `x-api-key` header/);
  });

  await t.test('401: an invalid key does not fall back to the cookie', async (t) => {
    for (const wrong of ['nonsense', `${key.slice(0, -1)}!`, 'a b']) {
      const answer = await client.post('/messages', ask(), { cookie, headers: { 'x-api-key': wrong } });
      t.match(answer, {
        status: 401,
        body: { error: { code: 'invalidApiKey', type: 'authentication_error' } },
      });
      t.equal(answer.headers.get('www-authenticate'), 'Bearer error="invalid_token"');
    }
    t.equal(
      (await client.post('/messages', ask(), { cookie })).status,
      200,
      'a web session can call the endpoint',
    );
    t.match((await client.post('/messages', ask())).body.error.message, /`x-api-key: <API_KEY>`/);
  });

  await t.test('only pages from an allowed origin can call, and the cookie rules do not apply', async (t) => {
    const headers = {
      'x-api-key': page.key,
      origin: 'https://app.example.com',
      'sec-fetch-site': 'cross-site',
    };
    const answer = await post(headers);
    t.equal(answer.status, 200);
    t.equal(answer.headers.get('access-control-allow-origin'), 'https://app.example.com');
    t.match(answer.headers.get('access-control-expose-headers'), /(^|, )request-id(,|$)/);
    t.match(await post({ ...headers, origin: 'https://evil.example' }), {
      status: 403,
      body: { error: { code: 'originNotAllowed' } },
    });
    const preflight = await fetch(`${client.origin}/api/v1/messages`, {
      method: 'OPTIONS',
      headers: {
        origin: 'https://app.example.com',
        'access-control-request-method': 'POST',
        'access-control-request-headers':
          'anthropic-dangerous-direct-browser-access,anthropic-version,content-type,x-api-key,x-stainless-lang',
      },
    });
    t.equal(preflight.status, 204);
    t.match(preflight.headers.get('access-control-allow-headers'), /anthropic-version.*x-api-key/);
  });

  await t.test('x-api-key is not a credential on other endpoints', async (t) => {
    const headers = { 'x-api-key': key };
    for (const [method, path, body] of [
      ['GET', '/usage', undefined],
      ['GET', '/models', undefined],
      ['POST', '/chat', { message: 'Hi' }],
      ['POST', '/chat/completions', { messages: [user('Hi')] }],
    ] as const)
      t.match(
        await client.request(method, path, { headers, body }),
        { status: 401, body: { error: { code: 'missingCredentials' } } },
        path,
      );
    t.equal(
      (await client.get('/keys', { cookie, headers })).status,
      200,
      'x-api-key does not invalidate a session',
    );
  });
});
