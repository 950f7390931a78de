// Which fields of a chat completion reach the upstream. Contract section 7, reliability test 63.

import t from 'tap';
import { CompletionFields } from '../../src/domain/completion-fields.ts';
import { startTestService } from '../support/service.ts';
import { startUpstream } from '../support/upstream/client.ts';

const upstream = await startUpstream();
t.teardown(() => upstream.stop());

const messages = [{ role: 'user', content: 'Hi' }];
const IGNORED = 'x-parley-ignored-fields';

const { client } = await startTestService(t, 'postgres', {
  CHAT_URL: upstream.url,
  CHAT_MODEL: 'model=test-model',
  CHAT_FIELDS: 'mirostat, grammar',
  IMAGE_HOSTS: 'images.internal,10.0.0.5,[fd00::5]',
});
const { key } = await client.createKey(await client.signUp());
const complete = (body: unknown, headers = {}) => client.post('/chat/completions', body, { key, headers });
const used = async () => (await client.get('/usage', { key })).body.used.chat;
const asked = async () => (await upstream.calls()).chat;

t.beforeEach(() => upstream.reset());

t.test(
  '63: a known field in another case returns 400 with its name, and nothing reaches the upstream',
  async (t) => {
    const before = await used();
    const wrong: [string, unknown, string][] = [
      ['N', 8, 'n'],
      ['\uff2e', 8, 'n'],
      ['Model', 'expensive', 'model'],
      ['MESSAGES', [], 'messages'],
      ['\u017ftream', true, 'stream'],
      ['top_\u212a', 1, 'top_k'],
      ['Max_Tokens', 1_000_000, 'max_tokens'],
      ['Stream_Options', {}, 'stream_options'],
      ['MIROSTAT', 2, 'mirostat'],
    ];
    for (const [name, value, param] of wrong) {
      for (const stream of [false, true]) {
        const answer = await complete({ messages, stream, [name]: value });
        t.match(answer, { status: 400, body: { error: { code: 'invalidRequest', param } } }, name);
      }
    }
    for (const [path, body, name] of [
      ['/chat', { message: 'Hi' }, 'Model'],
      ['/images/generations', { prompt: 'A fox' }, 'N'],
      ['/search', { query: 'x' }, 'Limit'],
    ] as const) {
      const answer = await client.post(path, { ...body, [name]: 2 }, { key });
      t.match(answer, { status: 400, body: { error: { code: 'invalidRequest', param: name } } });
    }
    t.equal(await asked(), 0);
    t.equal(await used(), before);
  },
);

t.test('63: unknown fields do not reach the upstream, and a response header lists them', async (t) => {
  const body = {
    messages: [{ ...messages[0], Name: 'nested names are free' }],
    ...{ models: ['expensive'], provider: { order: ['x'] }, best_of: 8, service_tier: 'priority' },
    ...{ temperature: 0.5, tools: [], reasoning_effort: 'low', prompt_cache_key: 'k', top_k: 5, min_p: 0.1 },
    ...{ chat_template_kwargs: { Thinking: true }, repetition_penalty: 1.1, guided_json: {}, mirostat: 2 },
    'a, b': 1,
    'x\r\ny: z': 1,
  };
  const headers = { 'idempotency-key': 'fields' };
  for (const stream of [false, true]) {
    await upstream.reset();
    const answer = await complete({ ...body, stream });
    t.equal(answer.status, 200);
    t.equal(answer.headers.get(IGNORED), 'models, provider, best_of, service_tier');
    const sent = (await upstream.onlyCall()).body as Record<string, unknown>;
    t.same(Object.keys(sent).sort(), [
      ...[
        'chat_template_kwargs',
        'guided_json',
        'messages',
        'min_p',
        'mirostat',
        'model',
        'prompt_cache_key',
      ],
      ...['reasoning_effort', 'repetition_penalty', 'stream', ...(stream ? ['stream_options'] : [])],
      ...['temperature', 'tools', 'top_k'],
    ]);
    t.same(sent.messages, body.messages);
  }
  await complete(body, headers);
  const again = await complete(body, headers);
  t.equal(again.headers.get('idempotency-replayed'), 'true');
  t.equal(
    again.headers.get(IGNORED),
    'models, provider, best_of, service_tier',
    'also with a replayed response',
  );
  t.equal((await complete({ messages })).headers.get(IGNORED), null);
});

t.test('the header that lists unknown fields is at most 500 characters long', async (t) => {
  const many = Object.fromEntries(Array.from({ length: 500 }, (_, n) => [`field_${n}`, n]));
  const long = { ['x'.repeat(65)]: 1 };
  const value = (await complete({ messages, ...long, ...many })).headers.get(IGNORED) ?? '';
  t.ok(value.length <= 500);
  t.match(value, /^field_0, field_1, /);
});

t.test('pages from an allowed origin can read the header that lists ignored fields', async (t) => {
  const origin = 'https://app.example.com';
  const page = await client.createKey(await client.signUp(), { allowed_origins: [origin] });
  const answer = await client.post(
    '/chat/completions',
    { messages, provider: 1 },
    { key: page.key, headers: { origin } },
  );
  t.match(answer.headers.get('access-control-expose-headers'), IGNORED);
});

const image = (url: unknown) => [{ role: 'user', content: [{ type: 'image_url', image_url: { url } }] }];

t.test('image URLs must be data: URLs or https URLs with a public or allowed host', async (t) => {
  for (const url of [
    'data:image/png;base64,AA==',
    'https://example.com/fox.png',
    'HTTPS://example.com:8443/a b'.replace(' ', '%20'),
    'https://93.184.216.34/x',
    'https://[2606:2800:220:1:248:1893:25c8:1946]/x',
    'https://images.internal/x',
    'https://IMAGES.internal:8443/x',
    'https://10.0.0.5/x',
    'https://[fd00:0::5]/x',
  ]) {
    t.equal((await complete({ messages: image(url) })).status, 200, url);
  }
  const before = await asked();
  for (const url of [
    'http://example.com/x',
    'ftp://example.com/x',
    'file:///etc/passwd',
    '//example.com/x',
    '/etc/passwd',
    'example.com',
    '',
    ' https://example.com/x',
    'https:/\\127.0.0.1/x',
    'https://example.com\\@127.0.0.1/',
    'https://user:pass@example.com/',
    'https://127.0.0.1/x',
    'https://127.1/x',
    'https://2130706433/x',
    'https://0x7f.0.0.1/x',
    'https://0177.0.0.1/x',
    'https://%31%32%37.0.0.1/x',
    'https://\uff11\uff12\uff17.0.0.1/x',
    'https://0/',
    'https://10.1.2.3/',
    'https://172.31.0.1/',
    'https://192.168.1.1/',
    'https://169.254.169.254/latest/meta-data',
    'https://100.64.0.1/',
    'https://[::1]/',
    'https://[::]/',
    'https://[::ffff:127.0.0.1]/',
    'https://[::ffff:a9fe:a9fe]/',
    'https://[64:ff9b::7f00:1]/',
    'https://[2002:7f00:1::]/',
    'https://[fe80::1]/',
    'https://[fd00::6]/',
    'https://localhost/',
    'https://localhost./',
    'https://db/',
    'https://printer.local/',
    'https://a.localhost/',
    'https://metadata.google.internal/',
  ]) {
    const answer = await complete({ messages: image(url) });
    const param = 'messages.0.content.0.image_url.url';
    t.match(answer, { status: 400, body: { error: { code: 'invalidRequest', param } } }, url);
  }
  t.equal(await asked(), before);
});

t.test(
  'other URLs in a request follow the same rule, but text and schemas may contain any URL',
  async (t) => {
    const bad = 'https://169.254.169.254/';
    const part = (members: object) => ({
      messages: [{ role: 'user', content: [{ type: 'x', ...members }] }],
    });
    for (const body of [
      part({ image_url: bad }),
      part({ Image_URL: { URL: bad } }),
      part({ video_url: { url: bad } }),
      part({ audio_url: { url: 'http://example.com' } }),
      part({ file: { file_data: bad } }),
      part({ file: { file_data: 'http:169.254.169.254' } }),
      part({ input_audio: { data: 'file:///etc/passwd' } }),
      part({ image: bad }),
      part({ images: [bad] }),
      { messages: [{ role: 'assistant', content: null, images: [{ image_url: { url: bad } }] }] },
      { messages: [{ role: 'user', content: 'x', image_url: bad }] },
      { messages, tools: [{ type: 'mcp', server_url: 'http://10.0.0.7/' }] },
      { messages, prediction: { type: 'content', content: [{ type: 'image_url', image_url: bad }] } },
    ]) {
      t.match(
        await complete(body),
        { status: 400, body: { error: { code: 'invalidRequest' } } },
        JSON.stringify(body),
      );
    }
    t.equal(await asked(), 0);
    const schema = {
      $schema: 'http://json-schema.org/draft-07/schema#',
      properties: { url: { default: bad } },
    };
    for (const body of [
      { messages: [{ role: 'user', content: `See ${bad}` }] },
      { messages: [{ role: 'user', content: bad }] },
      part({ type: 'text', text: 'http://localhost/' }),
      part({ type: 'thinking', thinking: 'http://localhost/ is where it runs' }),
      part({ type: 'reasoning', reasoning: 'http://localhost/ is where it runs' }),
      part({
        type: 'file',
        file: { filename: 'C: notes.pdf', file_data: 'data:application/pdf;base64,AA==' },
      }),
      part({ type: 'input_audio', input_audio: { data: 'UklGRg==', format: 'wav' } }),
      { messages, tools: [{ type: 'function', function: { name: 'f', parameters: schema } }] },
      { messages, response_format: { type: 'json_schema', json_schema: { name: 's', schema } } },
      {
        messages: [
          {
            role: 'assistant',
            content: 'x',
            annotations: [{ type: 'url_citation', url_citation: { url: 'http://localhost/' } }],
            tool_calls: [
              { id: 'a', type: 'function', function: { name: 'f', arguments: `{"url":"${bad}"}` } },
            ],
          },
          { role: 'tool', tool_call_id: 'a', content: 'http://localhost/' },
        ],
      },
    ]) {
      t.equal((await complete(body)).status, 200, JSON.stringify(body));
    }
  },
);

t.test('file IDs never reach the upstream, because its stored files belong to the operator', async (t) => {
  const id = 'file-of-the-operator';
  const user = (members: object) => ({ messages: [{ role: 'user', content: [members] }] });
  const before = await asked();
  for (const [param, body] of Object.entries({
    'messages.0.content.0.file.file_id': user({ type: 'file', file: { file_id: id } }),
    'messages.0.content.0.file.File_ID': user({
      type: 'file',
      file: { file_data: 'data:,a', File_ID: id },
    }),
    'messages.0.content.0.fileId': user({ type: 'file', fileId: id }),
    'messages.0.content.0.source.file_id': user({ type: 'image', source: { type: 'file', file_id: id } }),
    'messages.0.content.0.file_ids': user({ type: 'files', file_ids: [id] }),
    'messages.0.attachments.0.file_id': {
      messages: [{ role: 'user', content: 'Read it.', attachments: [{ file_id: id }] }],
    },
    'messages.0.file_id': { messages: [{ role: 'user', content: 'Read it.', file_id: id }] },
    'messages.1.content.0.file.file_id': {
      messages: [
        { role: 'assistant', content: null, tool_calls: [] },
        { role: 'tool', tool_call_id: 'a', content: [{ type: 'file', file: { file_id: id } }] },
      ],
    },
    'prediction.content.0.file_id': {
      messages,
      prediction: { type: 'content', content: [{ file_id: id }] },
    },
    'tools.0.container.file_ids': {
      messages,
      tools: [{ type: 'code_interpreter', container: { file_ids: [id] } }],
    },
  })) {
    t.match(
      await complete(body),
      { status: 400, body: { error: { code: 'invalidRequest', param, message: /send the file as data/ } } },
      param,
    );
  }
  t.equal(await asked(), before);
  const parameters = { type: 'object', properties: { file_id: { type: 'string' } } };
  for (const body of [
    user({ type: 'text', text: `{"file_id":"${id}"}` }),
    user({ type: 'file', file: { file_id: null, file_data: 'data:application/pdf;base64,AA==' } }),
    { messages, tools: [{ type: 'function', function: { name: 'read', parameters } }] },
  ])
    t.equal((await complete(body)).status, 200, JSON.stringify(body));
});

t.test(
  '63: variants of the longest name allowed in CHAT_FIELDS are rejected, even with two UTF-16 units per letter',
  async (t) => {
    const name = 'x'.repeat(64);
    const fields = new CompletionFields([name]);
    t.throws(() => fields.check({ ['𝐱'.repeat(64)]: 1 }), {
      code: 'invalidRequest',
      options: { param: name },
    });
    fields.check({ [name]: 1, ['𝐲'.repeat(64)]: 1 });
  },
);
