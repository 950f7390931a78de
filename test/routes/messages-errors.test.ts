// Errors of the Messages API have Anthropic's format. Contract sections 6 and 14.
import t from 'tap';
import { holdNextReply } from '../support/held-reply.ts';
import type { Client } from '../support/http.ts';
import { askMessage as ask, user } from '../support/messages.ts';
import { onEachDatabase, plansFile } from '../support/service.ts';

const usedBy = async (client: Client, key: string) => (await client.get('/usage', { key })).body.used.chat;

onEachDatabase(t, plansFile(t, { chat: 1 }), async (t, service) => {
  const { app, client } = service;
  const owner = await client.signUp();
  const { key } = await client.createKey(owner);
  const narrow = await client.createKey(owner, { scopes: ['models'] });
  const page = await client.createKey(owner, { allowed_origins: ['https://app.example.com'] });
  const strange = `parley_${'0'.repeat(8)}_${'0'.repeat(49)}`;

  type Case = [
    title: string,
    options: Parameters<Client['request']>[2],
    status: number,
    error: object,
    path?: string,
    method?: string,
  ];
  const invalid = (param: string) => ({ code: 'invalidRequest', type: 'invalid_request_error', param });
  const cases: Case[] = [
    ['no key', { body: ask() }, 401, { code: 'missingCredentials', type: 'authentication_error' }],
    [
      'an unknown key',
      { body: ask(), key: strange },
      401,
      { code: 'invalidApiKey', type: 'authentication_error' },
    ],
    [
      'a missing scope',
      { body: ask(), key: narrow.key },
      403,
      { code: 'insufficientScope', type: 'permission_error' },
    ],
    [
      'a page from another origin',
      { body: ask(), key: page.key, headers: { origin: 'https://evil.example' } },
      403,
      { code: 'originNotAllowed', type: 'permission_error' },
    ],
    [
      'a cross-site request with the cookie',
      { body: ask(), cookie: owner.cookie, headers: { 'sec-fetch-site': 'cross-site' } },
      403,
      { code: 'crossSiteRequest', type: 'permission_error' },
    ],
    [
      'an unknown model',
      { body: ask({ model: 'x' }), key },
      404,
      { type: 'not_found_error', param: 'model' },
    ],
    ['no body', { raw: '', key }, 400, { type: 'invalid_request_error' }],
    ['broken JSON', { raw: '{"model"', key }, 400, { type: 'invalid_request_error' }],
    [
      'not JSON',
      { raw: 'hello', key, headers: { 'content-type': 'text/plain' } },
      415,
      { code: 'unsupportedMediaType', type: 'invalid_request_error' },
    ],
    [
      'a body that is too large',
      { raw: `{"x":"${'x'.repeat(20 * 1024 * 1024)}"}`, key },
      413,
      { code: 'payloadTooLarge', type: 'request_too_large' },
    ],
    ['no max_tokens', { body: ask({ max_tokens: undefined }), key }, 400, invalid('max_tokens')],
    ['no messages', { body: ask({ messages: [] }), key }, 400, invalid('messages')],
    [
      'an unknown role',
      { body: ask({ messages: [{ role: 'tool', content: 'x' }] }), key },
      400,
      invalid('messages.0.role'),
    ],
    ['an invalid temperature', { body: ask({ temperature: 1.5 }), key }, 400, invalid('temperature')],
    ['an unknown query parameter', { body: ask(), key }, 400, invalid('color'), '/messages?color=red'],
    [
      'a key in the query',
      { body: ask(), key },
      400,
      { code: 'apiKeyInQuery', type: 'invalid_request_error' },
      `/messages?key=${key}`,
    ],
    [
      'another method',
      { key },
      405,
      { code: 'methodNotAllowed', type: 'invalid_request_error' },
      '/messages',
      'GET',
    ],
    [
      'an unknown path',
      { body: {}, key },
      404,
      { code: 'notFound', type: 'not_found_error' },
      '/messages/batches',
    ],
    ['a malformed path', { key }, 400, { type: 'invalid_request_error' }, '/messages/%zz', 'GET'],
  ];
  for (const [title, options, status, error, path = '/messages', method = 'POST'] of cases)
    await t.test(`${status} ${title}`, async (t) => {
      const answer = await client.request(method, path, options);
      t.match(answer, {
        status,
        body: { type: 'error', error, request_id: answer.headers.get('request-id') },
      });
      t.match(answer.body.error, { message: String, docs: /\/docs\/errors\/\w+$/ });
      t.same(Object.keys(answer.body), ['type', 'error', 'request_id']);
      t.equal(answer.headers.get('request-id'), answer.headers.get('x-request-id'));
      if (status === 401) t.match(answer.headers.get('www-authenticate'), /^Bearer/);
    });
  t.equal(await usedBy(client, key), 0);

  await t.test('400: blocks that no model can read, and blocks without required fields', async (t) => {
    const document = {
      type: 'document',
      source: { type: 'base64', media_type: 'application/pdf', data: 'AA' },
    };
    const blocks: [unknown, string][] = [
      [[document], 'messages.0.content.0'],
      [[{ type: 'tool_result', tool_use_id: 'a', content: [document] }], 'messages.0.content.0.content.0'],
      [[{ type: 'image', source: { type: 'file', file_id: 'f' } }], 'messages.0.content.0'],
      [[{ type: 'image' }], 'messages.0.content.0'],
      [
        [{ type: 'image', source: { type: 'base64', media_type: 'text/html;x', data: 'AA' } }],
        'messages.0.content.0.source.media_type',
      ],
      [
        [{ type: 'image', source: { type: 'url', url: 'http://10.0.0.1/x' } }],
        'messages.0.content.0.image_url.url',
      ],
      [[{ type: 'text' }], 'messages.0.content.0.text'],
      [[{ type: 'tool_result', content: 'x' }], 'messages.0.content.0.tool_use_id'],
      [[{ type: 'novelty' }], 'messages'],
    ];
    for (const [content, param] of blocks)
      t.match(
        await client.post('/messages', ask({ messages: [user(content)] }), { key }),
        { status: 400, body: { type: 'error', error: { type: 'invalid_request_error', param } } },
        JSON.stringify(content),
      );
    for (const [block, param] of [
      [{ type: 'tool_use', id: 'a', input: {} }, 'messages.1.content.0.name'],
      [{ type: 'tool_use', name: 'f', input: {} }, 'messages.1.content.0.id'],
    ] as const)
      t.match(
        await client.post(
          '/messages',
          ask({ messages: [user('x'), { role: 'assistant', content: [block] }] }),
          {
            key,
          },
        ),
        { status: 400, body: { error: { param } } },
      );
    t.match(await client.post('/messages', ask({ tools: [{ description: 'x' }] }), { key }), {
      status: 400,
      body: { error: { param: 'tools.0.name' } },
    });
    t.equal(await usedBy(client, key), 0);
  });

  await t.test('400: a thread, because the model would not see its earlier messages', async (t) => {
    const threads = [{ type: 'create' }, { type: 'continue', previous_message_id: 'msg_1' }];
    for (const path of ['/messages', '/messages/count_tokens'])
      for (const thread of threads)
        t.match(await client.post(path, ask({ thread }), { key }), {
          status: 400,
          body: {
            type: 'error',
            error: {
              ...invalid('thread'),
              // After this error, Anthropic's SDKs send the whole conversation.
              details: { error_code: 'thread_unsupported_request', unsupported: ['thread'] },
            },
          },
        });
    t.equal(await usedBy(client, key), 0);
    const { key: own } = await client.createKey(await client.signUp());
    t.match(await client.post('/messages', ask({ thread: null }), { key: own }), { status: 200 });
  });

  await t.test('429 quotaExceeded: x-should-retry tells clients not to retry', async (t) => {
    await client.post('/messages', ask(), { key });
    for (const stream of [false, true]) {
      const answer = await client.post('/messages', ask({ stream }), { key });
      t.match(answer, {
        status: 429,
        body: {
          type: 'error',
          error: { type: 'rate_limit_error', code: 'quotaExceeded', limit: { name: 'chat' } },
        },
      });
      t.equal(answer.headers.get('x-should-retry'), 'false');
      t.ok(Number(answer.headers.get('retry-after')) > 0);
    }
  });

  await t.test('422 idempotencyMismatch: a retry with another body', async (t) => {
    const headers = { 'idempotency-key': crypto.randomUUID() };
    const { key: own } = await client.createKey(await client.signUp());
    await client.post('/messages', ask(), { key: own, headers });
    t.match(await client.post('/messages', ask({ max_tokens: 7 }), { key: own, headers }), {
      status: 422,
      body: { type: 'error', error: { type: 'invalid_request_error', code: 'idempotencyMismatch' } },
    });
  });

  await t.test('409 idempotencyInProgress: a retry while the first request runs', async (t) => {
    const headers = { 'idempotency-key': crypto.randomUUID() };
    const { key: own } = await client.createKey(await client.signUp());
    const held = holdNextReply(t, app.engines.chat);
    const first = client.post('/messages', ask(), { key: own, headers });
    await held.called;
    const retry = await client.post('/messages', ask(), { key: own, headers });
    held.release();
    t.equal((await first).status, 200);
    t.match(retry, {
      status: 409,
      body: { type: 'error', error: { type: 'invalid_request_error', code: 'idempotencyInProgress' } },
    });
    t.equal(retry.headers.get('retry-after'), '1');
  });
});
