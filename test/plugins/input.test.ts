// Reliability tests 1 to 5, 15, and 41 to 44: invalid input is refused and never causes a 500.
import { connect } from 'node:net';
import t from 'tap';
import { generateApiKey } from '../../src/domain/api-key.ts';
import { onEachDatabase } from '../support/service.ts';

onEachDatabase(t, {}, async (t, { client, port }) => {
  const owner = await client.signUp();
  const { key } = await client.createKey(owner);
  const used = async () => (await client.get('/usage', { key })).body.used;

  /** Sends raw bytes and returns the raw response. */
  const sendRaw = (text: string | Buffer) =>
    new Promise<string>((resolve, reject) => {
      const socket = connect(port, '127.0.0.1', () => socket.write(text));
      let received = '';
      socket.on('data', (data) => {
        received += data;
        if (/\r\n\r\n[\s\S]*\}$/.test(received)) socket.destroy();
      });
      socket.on('close', () => resolve(received));
      socket.on('error', reject);
    });

  await t.test('Authorization: 401 invalidApiKey for malformed, huge, or SQL values', async (t) => {
    const values = [
      'Bearer',
      'Bearer ',
      'bearer x',
      'Bearer a b',
      `Bearer ${'x'.repeat(10_000)}`,
      "Bearer ' OR 1=1; --",
      "Bearer parley_'; DROP TABLE accounts; --",
      'Bearer parley_00000000_0000000000000000000000000000000000000000000000000',
    ];
    for (const authorization of values) {
      const answer = await client.get('/usage', { headers: { authorization } });
      t.match(
        answer,
        { status: 401, body: { error: { code: 'invalidApiKey' } } },
        authorization.slice(0, 50),
      );
    }
  });

  await t.test('Authorization: 401 missingCredentials if it is empty or uses another scheme', async (t) => {
    for (const authorization of ['', 'Basic YTpi', `Token ${key}`, key, 'Bearerx y']) {
      const answer = await client.get('/usage', { headers: { authorization } });
      t.match(answer, { status: 401, body: { error: { code: 'missingCredentials' } } }, authorization);
    }
  });

  await t.test('Authorization: 401 invalidApiKey for a well-formed key that does not exist', async (t) => {
    t.match(await client.get('/usage', { key: generateApiKey().rawKey }), {
      status: 401,
      body: { error: { code: 'invalidApiKey' } },
    });
  });

  await t.test('Authorization: 400 if the header is sent twice', async (t) => {
    const head = `GET /api/v1/usage HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\nauthorization: Bearer ${key}\r\nConnection: close\r\n\r\n`;
    t.match(await sendRaw(head), /^HTTP\/1\.1 400 [\s\S]*invalidRequest/);
    t.match(
      await sendRaw(head.replace('/usage', '/keys')),
      /^HTTP\/1\.1 400 /,
      'an operation that accepts only sessions',
    );
    t.match(
      await sendRaw(head.replace('/usage', '/plans')),
      /^HTTP\/1\.1 400 /,
      'an operation that needs no credentials',
    );
  });

  await t.test('a key in the query: 400 apiKeyInQuery, even with a valid Authorization header', async (t) => {
    for (const query of [
      'api_key=x',
      'key=x',
      'access_token=x',
      'API_KEY=x',
      `q=${key}`,
      `a=1&b=x${key}y`,
      `${key}=1`,
    ]) {
      const answer = await client.get(`/usage?${query}`, { key });
      t.match(answer, { status: 400, body: { error: { code: 'apiKeyInQuery' } } }, query.slice(0, 20));
      t.notOk(answer.text.includes(key), 'the response does not repeat the key');
    }
  });

  await t.test(
    '415 unsupportedMediaType: forms, text, a missing Content-Type, and misleading ones',
    async (t) => {
      const types = [
        'text/plain',
        'application/x-www-form-urlencoded',
        'multipart/form-data; boundary=x',
        'application/xml',
        'application/json5',
        'application/jsonx',
        'application',
        'text/plain; application/json',
        'application/ json',
        'x;application/json',
      ];
      for (const type of types) {
        const answer = await client.request('POST', '/chat', {
          raw: '{"message":"x"}',
          key,
          headers: { 'content-type': type },
        });
        t.match(answer, { status: 415, body: { error: { code: 'unsupportedMediaType' } } }, type);
      }
      const untyped = `POST /api/v1/chat HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\nContent-Length: 15\r\nConnection: close\r\n\r\n{"message":"x"}`;
      t.match(await sendRaw(untyped), /^HTTP\/1\.1 415 /);
    },
  );

  await t.test('415 unsupportedMediaType: any Content-Encoding except identity', async (t) => {
    const body = { message: 'Hello', nonsense: 1 };
    for (const encoding of ['gzip', 'br', 'GZIP', 'identity, gzip', 'x'])
      t.match(
        await client.post('/chat', body, { key, headers: { 'content-encoding': encoding } }),
        {
          status: 415,
          body: { error: { code: 'unsupportedMediaType', message: /`Content-Encoding`/ } },
        },
        encoding,
      );
    for (const encoding of ['identity', 'Identity', ''])
      t.match(
        await client.post('/chat', body, { key, headers: { 'content-encoding': encoding } }),
        { status: 400, body: { error: { param: 'nonsense' } } },
        encoding,
      );
  });

  await t.test('405 takes precedence over errors in the body or its type', async (t) => {
    for (const type of ['', 'Content-Type: application/json\r\n', 'Content-Type: text/plain\r\n'])
      for (const target of ['QUERY /api/v1/keys', 'PUT /api/v1/keys', 'POST /api/v1/usage']) {
        const head = `${target} HTTP/1.1\r\nHost: x\r\n${type}Content-Length: 2\r\n\r\n`;
        t.match(await sendRaw(`${head}{}`), /^HTTP\/1\.1 405 [\s\S]*methodNotAllowed/, `${target} ${type}`);
      }
  });

  await t.test('a body whose Content-Type has a tab, a space, or parameters is validated', async (t) => {
    for (const type of [
      'application/json\t',
      'application/json ; charset=utf-8',
      'application/json;',
      'APPLICATION/JSON',
      ' application/json',
    ]) {
      // Raw, because a client would trim the value.
      const head = `POST /api/v1/chat HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\nContent-Type:${type}\r\nContent-Length: 13\r\nConnection: close\r\n\r\n`;
      t.match(
        await sendRaw(`${head}{"message":1}`),
        /^HTTP\/1\.1 400 [\s\S]*"param":"message"/,
        JSON.stringify(type),
      );
    }
  });

  await t.test('400: invalid UTF-8, NUL, lone surrogates', async (t) => {
    const bodies: [string, string | Uint8Array][] = [
      [
        'invalid UTF-8',
        Buffer.concat([Buffer.from('{"message":"'), Buffer.from([0xff, 0xfe]), Buffer.from('"}')]),
      ],
      [
        'overlong UTF-8',
        Buffer.concat([Buffer.from('{"message":"'), Buffer.from([0xc0, 0x80]), Buffer.from('"}')]),
      ],
      ['escaped NUL', '{"message":"a\\u0000b"}'],
      ['high surrogate', '{"message":"\\ud800"}'],
      ['low surrogate', '{"message":"\\udc00 x"}'],
      ['NUL in a name', '{"message":"x","\\u0000":1}'],
    ];
    for (const [title, raw] of bodies) {
      t.match(
        await client.request('POST', '/chat', { raw, key }),
        { status: 400, body: { error: { code: 'invalidRequest' } } },
        title,
      );
    }
    t.equal(
      (await client.request('POST', '/chat', { raw: '{"message":"\\ud83d\\ude00 \\\\u0000"}', key })).status,
      200,
      'a surrogate pair is accepted',
    );
  });

  await t.test('400: a body nested more than 32 levels deep, even in a pass-through field', async (t) => {
    const nested = (depth: number) =>
      `{"messages":[{"role":"user","content":"x"}],"extra":${'['.repeat(depth)}${']'.repeat(depth)}}`;
    t.match(await client.request('POST', '/chat/completions', { raw: nested(5000), key }), {
      status: 400,
      body: { error: { message: /nested/ } },
    });
    t.equal((await client.request('POST', '/chat/completions', { raw: nested(32), key })).status, 400);
    t.equal((await client.request('POST', '/chat/completions', { raw: nested(31), key })).status, 200);
  });

  await t.test(
    '400: __proto__, constructor, broken or empty JSON, and values of the wrong type',
    async (t) => {
      const bodies = [
        '{"message":"x","__proto__":{"admin":true}}',
        '{"message":"x","constructor":{"prototype":{"a":1}}}',
        '{"message":"x","constructor":1}',
        '{"message":',
        '',
        'null',
        '[]',
        '"x"',
        '1',
        'NaN',
        '{"message":1}',
        '{"message":null}',
        '{"message":["x"]}',
        '{"message":"x",}',
      ];
      for (const raw of bodies) {
        t.match(
          await client.request('POST', '/chat', { raw, key }),
          { status: 400, body: { error: { code: 'invalidRequest' } } },
          raw,
        );
      }
    },
  );

  await t.test('duplicate members: the last one is validated', async (t) => {
    t.equal((await client.request('POST', '/chat', { raw: '{"message":"x","message":1}', key })).status, 400);
  });

  await t.test('413 payloadTooLarge: over 1 MiB, or over 20 MiB for /chat', async (t) => {
    const search = await client.post('/search', { query: 'x'.repeat(1024 * 1024) }, { key });
    t.match(search, { status: 413, body: { error: { code: 'payloadTooLarge' } } });
    const chat = (size: number) => client.post('/chat', { message: 'x'.repeat(size) }, { key });
    t.equal(
      (await chat(1.5 * 1024 * 1024)).status,
      400,
      'the message is too long, but the body is not too large',
    );
    t.equal((await chat(20 * 1024 * 1024)).status, 413);
  });

  await t.test('400: malformed paths and ids', async (t) => {
    const cases: [path: string, param: string | null][] = [
      ['/keys/%zz', null],
      ['/conversations/%00', null],
      ['/conversations/x', 'id'],
      [`/conversations/${'9'.repeat(500)}`, null],
    ];
    for (const [path, param] of cases)
      t.match(
        await client.get(path, { key }),
        { status: 400, body: { error: { code: 'invalidRequest', param } } },
        path.slice(0, 30),
      );
  });

  await t.test('400: the message says in plain words what is wrong', async (t) => {
    const cases: [path: string, body: unknown, message: string][] = [
      ['/chat', [], 'The body must be an object.'],
      ['/chat', {}, 'In the body, `message` is required.'],
      ['/chat', { message: 1 }, 'In the body, `message` must be a string.'],
      ['/chat', { message: 'Hi', store: 1 }, 'In the body, `store` must be a boolean.'],
      ['/images/generations', { prompt: 'x', n: '1' }, 'In the body, `n` must be a whole number or null.'],
      [
        '/responses',
        { input: 'x', metadata: Object.fromEntries([...'abcdefghijklmnopq'].map((name) => [name, name])) },
        'In the body, `metadata` must have at most 16 fields.',
      ],
      [
        '/responses',
        { input: 'x', metadata: { ['a'.repeat(65)]: 'x' } },
        `In the body, \`metadata\` has a field name that is too long: ${'a'.repeat(65)}.`,
      ],
      ['/search', { query: 'x', limit: 0.5 }, 'In the body, `limit` must be a whole number.'],
      ['/search', { query: 'x', limit: 0 }, 'In the body, `limit` must be at least 1.'],
      [
        '/auth/signup',
        { email: 'x@', password: 'x'.repeat(20) },
        'In the body, `email` must be a valid email address.',
      ],
    ];
    for (const [path, body, message] of cases)
      t.match(await client.post(path, body, { key }), { status: 400, body: { error: { message } } }, message);
    t.match(await client.get('/requests?from=today', { cookie: owner.cookie }), {
      status: 400,
      body: {
        error: { message: 'In the query, `from` must be an RFC 3339 time, such as 2026-11-20T13:45:12Z.' },
      },
    });
  });

  await t.test('search treats every query as literal text', async (t) => {
    for (const query of [
      '%',
      '_',
      "'",
      '" or 1=1',
      'a & b | !c',
      ':*',
      '<->',
      '\\',
      '((((',
      '🙂',
      'key:*',
      "x');--",
      'a'.repeat(1000),
      'a '.repeat(500),
    ]) {
      const { body, status } = await client.post('/search', { query }, { key });
      t.equal(status, 200, query.slice(0, 20));
      t.equal(body.query, query);
    }
  });

  await t.test('only the successful requests were charged', async (t) => {
    t.match(await used(), { chat: 2, search: 14 });
  });
});
