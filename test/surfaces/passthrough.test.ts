// Which fields an upstream with the same API as the client receives. Contract sections 7, 14, and 15.
import t from 'tap';
import type { Body } from '../support/http.ts';
import { onEachDatabase, plansFile } from '../support/service.ts';
import { answerOf, startVendors } from '../support/upstream/kinds.ts';
import { eventText } from '../support/upstream/wire.ts';

const SECRET = '169.254.169.254';
const url = `http://${SECRET}/latest/meta-data`;
const user = (content: unknown) => ({ role: 'user', content });
const assistant = (content: unknown) => ({ role: 'assistant', content });
const text = { type: 'text', text: 'x' };
const image = { type: 'image', source: { type: 'url', url } };
const stored = (type: string) => ({ type, source: { type: 'file', file_id: 'file_of_the_operator' } });
const call = { type: 'tool_use', id: 'a', name: 'f', input: {} };
const result = (content: unknown, fields: object = {}) => ({
  ...{ type: 'tool_result', tool_use_id: 'a', content },
  ...fields,
});
const data = 'JVBERi0xLjQ=';
const pdf = { type: 'document', source: { type: 'base64', media_type: 'application/pdf', data } };
const plain = { type: 'text', media_type: 'text/plain', data: 'x' };

/** Places where a Messages API request can name a URL or a stored file. */
const inMessages: Record<string, object> = {
  'an image in a user message': { messages: [user([image])] },
  'an image in an assistant message': { messages: [user('x'), assistant([image, text])] },
  'an image in the system prompt': { system: [image, text], messages: [user('x')] },
  'an image in a system message': {
    messages: [user('x'), { role: 'system', content: [image, text] }, user('x')],
  },
  'an image in a tool result': { messages: [user('x'), assistant([call]), user([result([image])])] },
  'an image in a tool result in an assistant message': {
    messages: [user('x'), assistant([call, result([image])]), user([result('x')])],
  },
  'an image in a document': {
    messages: [user([{ type: 'document', source: { type: 'content', content: [image] } }])],
  },
  'a document by URL': { messages: [user([{ type: 'document', source: { type: 'url', url } }])] },
  'a document by URL in an assistant message': {
    messages: [user('x'), assistant([{ type: 'document', source: { type: 'url', url } }, text])],
  },
  'a URL next to text': { messages: [user([{ type: 'document', source: { ...plain, url } }])] },
  'a URL next to data': { messages: [user([{ ...pdf, source: { ...pdf.source, url } }])] },
  'an extra field in a content block': { messages: [user([{ ...text, image_url: url }])] },
  'an extra field in a tool result': {
    messages: [user('x'), assistant([call]), user([result('x', { content_url: url })])],
  },
  'an extra field in a tool': {
    messages: [user('x')],
    tools: [{ name: 'f', input_schema: { type: 'object' }, server_url: url }],
  },
  'a stored image': { messages: [user([stored('image')])] },
  'a stored image in an assistant message': { messages: [user('x'), assistant([stored('image'), text])] },
  'a stored document in a tool result': {
    messages: [user('x'), assistant([call]), user([result([stored('document')])])],
  },
  'a stored document in a tool result in an assistant message': {
    messages: [user('x'), assistant([call, result([stored('document')])]), user([result('x')])],
  },
  'a stored file next to data': {
    messages: [user([{ ...pdf, source: { ...pdf.source, file_id: 'file_of_the_operator' } }])],
  },
};

const file = { type: 'input_file', file_data: `data:application/pdf;base64,${data}`, filename: 'a.pdf' };
const picture = { type: 'input_image', image_url: 'https://example.com/a.png' };
const called = { type: 'function_call', call_id: 'a', name: 'f', arguments: '{}' };
const output = (parts: unknown, fields: object = {}) => ({
  ...{ type: 'function_call_output', call_id: 'a', output: parts },
  ...fields,
});
const wrapped = (part: object) => [
  ...[user([part]), user([{ type: 'input_text', text: 'x' }, part]), assistant([part])],
  { role: 'system', content: [part] },
];

/** The same for the Responses API. The test checks these names for "output" and "call". */
const inResponses: Record<string, object[]> = {
  'a URL next to file data': wrapped({ ...file, file_url: url }),
  'a stored file ID next to file data': wrapped({ ...file, file_id: 'file_of_the_operator' }),
  'a stored file ID next to an image URL': wrapped({ ...picture, file_id: 'file_of_the_operator' }),
  'an image URL': wrapped({ ...picture, image_url: url }),
  'an extra field in a content part': wrapped({ type: 'input_text', text: 'x', image_url: url }),
  'a URL next to file data in an output': [called, output([{ ...file, file_url: url }])],
  'a stored file in an output': [called, output([{ ...file, file_id: 'file_of_the_operator' }])],
  'an extra field in an output': [called, output('x', { file_url: url })],
  'an extra field in a call': [{ ...called, server_url: url }, output('x')],
};

t.test("private URLs and the operator's stored files never reach an upstream", async (t) => {
  const { calls, env } = await startVendors(t, (kind, sent) =>
    sent.path.endsWith('/count_tokens') ? { body: { input_tokens: 1 } } : answerOf(kind, sent),
  );
  onEachDatabase(t, { ...env, ...plansFile(t) }, async (t, { client }) => {
    const { key } = await client.createKey(await client.signUp());
    const leaks = (sent: readonly { body: Body }[]) =>
      sent.filter(({ body }) => /169\.254|file_of_the_operator|file_id/.test(JSON.stringify(body)));
    const used = async () => (await client.get('/usage', { key })).body.used.chat;

    for (const [where, fields] of Object.entries(inMessages))
      for (const path of ['/messages', '/messages/count_tokens']) {
        const max = path === '/messages' ? { max_tokens: 10 } : {};
        const answer = await client.post(path, { model: 'anthropic', ...max, ...fields }, { key });
        t.ok(answer.status === 400 || answer.status === 200, `${path}, ${where}: ${answer.text}`);
        t.same(leaks(calls.anthropic), [], `${path}, ${where}`);
      }
    for (const [where, items] of Object.entries(inResponses)) {
      const inputs =
        where.includes('output') || where.includes('call') ? [items] : items.map((item) => [item]);
      for (const input of inputs) {
        const asked = { model: 'openai-responses', store: false, input: [user('x'), ...input] };
        const answer = await client.post('/responses', asked, { key });
        t.ok(answer.status === 400 || answer.status === 200, `${where}: ${answer.text}`);
        t.same(leaks(calls['openai-responses']), [], where);
      }
    }
    const before = await used();
    for (const where of ['an image in a user message', 'an image in a tool result', 'an image in a document'])
      t.match(
        await client.post('/messages', { model: 'anthropic', max_tokens: 10, ...inMessages[where] }, { key }),
        { status: 400, body: { error: { code: 'invalidRequest' } } },
        where,
      );
    t.match(
      await client.post(
        '/responses',
        { model: 'openai-responses', input: 'x', tools: [{ type: 'function', name: 'f', server_url: url }] },
        { key },
      ),
      { status: 400, body: { error: { code: 'invalidRequest', param: 'tools.0.server_url' } } },
    );
    t.equal(await used(), before);
  });
});

t.test('text, arguments, and schemas may contain any URL', async (t) => {
  const { calls, env } = await startVendors(t);
  onEachDatabase(t, { ...env, ...plansFile(t) }, async (t, { client }) => {
    const { key } = await client.createKey(await client.signUp());
    const schema = {
      $schema: 'http://json-schema.org/draft-07/schema#',
      properties: { url: { default: url } },
    };
    const document = { type: 'document', title: url, context: url, source: { ...plain, data: url } };
    const asked = {
      ...{ model: 'anthropic', max_tokens: 10, system: url },
      messages: [
        user(url),
        assistant([{ ...call, input: { url } }]),
        user([result(url), document, { ...text, text: url }]),
      ],
      tools: [{ name: 'f', description: url, input_schema: schema, input_examples: [{ url }] }],
    };
    t.equal((await client.post('/messages', asked, { key })).status, 200);
    t.match(calls.anthropic.at(-1)?.body, { messages: asked.messages, tools: asked.tools });

    const input = [
      user(url),
      { ...called, arguments: JSON.stringify({ url }) },
      output(url),
      { type: 'custom_tool_call', call_id: 'b', name: 'g', input: url },
      { type: 'custom_tool_call_output', call_id: 'b', output: [{ type: 'input_text', text: url }] },
      assistant([{ type: 'output_text', text: url, annotations: [{ type: 'url_citation', url }] }]),
      user([{ ...file, filename: 'C:\\a.pdf' }]),
    ];
    const tools = [
      { type: 'function', name: 'f', description: url, parameters: schema },
      { type: 'custom', name: 'g', format: { type: 'grammar', syntax: 'lark', definition: url } },
    ];
    const said = { model: 'openai-responses', instructions: url, input, tools };
    const answer = await client.post('/responses', said, { key });
    t.equal(answer.status, 200, answer.text);
    t.match(calls['openai-responses'].at(-1)?.body, { instructions: url, input, tools });
  });
});

t.test(
  'client tools and tool references reach Anthropic; hosted tools and blank messages do not',
  async (t) => {
    const { calls, env } = await startVendors(t);
    onEachDatabase(t, { ...env, ...plansFile(t) }, async (t, { client }) => {
      const { key } = await client.createKey(await client.signUp());
      const typed = [
        { type: 'bash_20250124', name: 'bash' },
        { type: 'text_editor_20250728', name: 'str_replace_based_edit_tool', max_characters: 1000 },
        { type: 'memory_20250818', name: 'memory' },
        { type: 'computer_20250124', name: 'computer', display_width_px: 800, display_height_px: 600 },
      ];
      const custom = { name: 'f', input_schema: { type: 'object' } };
      const hosted = [
        { type: 'web_search_20250305', name: 'web_search' },
        { type: 'web_fetch_20250910', name: 'web_fetch' },
        { type: 'code_execution_20250825', name: 'code_execution' },
        { type: 'mcp_toolset', mcp_server_name: 'x' },
      ];
      const reference = { type: 'tool_reference', tool_name: 'f' };
      const said = [user('x'), assistant([call]), user([result([reference])])];
      const blank = [user(''), assistant([{ type: 'text', text: ' ' }])];
      const asked = {
        max_tokens: 10,
        messages: [...said.slice(0, 1), ...blank, ...said.slice(1)],
        tools: [...typed, ...hosted, custom],
        tool_choice: { type: 'tool', name: 'bash' },
      };
      const answer = await client.post('/messages', { model: 'anthropic', ...asked }, { key });
      t.equal(answer.status, 200, answer.text);
      const { messages, tool_choice, tools } = calls.anthropic.at(-1)?.body ?? {};
      t.same(tools, [...typed, custom]);
      t.same(tool_choice, asked.tool_choice);
      t.same(messages, said);

      t.equal((await client.post('/messages', { model: 'openai-responses', ...asked }, { key })).status, 200);
      const other = calls['openai-responses'].at(-1)?.body;
      t.match(other.tools, [{ name: 'f' }]);
      t.equal(other.tools.length, 1);
      t.match(other.input.at(-1), { type: 'function_call_output', output: 'f' });
    });
  },
);

t.test('search results reach the model, and blocks from tools that ran elsewhere are dropped', async (t) => {
  const { calls, env } = await startVendors(t);
  onEachDatabase(t, env, async (t, { client }) => {
    const { key } = await client.createKey(await client.signUp());
    const found = {
      ...{ type: 'search_result', source: 'https://wiki.internal/rain', title: 'Rain' },
      ...{ content: [{ type: 'text', text: 'It rains.' }], citations: { enabled: true } },
    };
    const elsewhere = [
      { type: 'web_search_tool_result', tool_use_id: 'b', content: { error_code: 'unavailable' } },
      { type: 'code_execution_tool_result', tool_use_id: 'b', content: { type: 'x', stdout: '' } },
      { type: 'compaction', content: null },
    ];
    const said = [user([found, text]), assistant([call]), user([result([found]), result(null), text])];
    const messages = said.map((message) =>
      message.role === 'assistant' ? assistant([...elsewhere, call]) : message,
    );
    const ask = (model: string) => client.post('/messages', { model, max_tokens: 10, messages }, { key });
    const answer = await ask('anthropic');
    t.equal(answer.status, 200, answer.text);
    t.same(calls.anthropic.at(-1)?.body.messages, said);

    t.equal((await ask('openai-responses')).status, 200);
    const input = JSON.stringify(calls['openai-responses'].at(-1)?.body.input);
    for (const part of ['Rain', 'https://wiki.internal/rain', 'It rains.'])
      t.equal(input.split(part).length - 1, 2, part);
  });
});

t.test('call IDs and tool names are rewritten to a form that the upstream accepts', async (t) => {
  const { calls, env } = await startVendors(t);
  onEachDatabase(t, env, async (t, { client }) => {
    const { key } = await client.createKey(await client.signUp());
    const call_id = 'functions.f:0';
    const tool = { type: 'function', name: 'g', parameters: { type: 'object' } };
    const body = {
      ...{ model: 'anthropic', store: false },
      tools: [{ type: 'namespace', name: 'mcp.x y', tools: [tool] }],
      input: [
        user('x'),
        { type: 'function_call', call_id, name: 'g', namespace: 'mcp.x y', arguments: '{}' },
        { type: 'function_call_output', call_id, output: 'x' },
      ],
    };
    t.equal((await client.post('/responses', body, { key })).status, 200);
    const { messages, tools } = calls.anthropic.at(-1)?.body ?? {};
    const [
      ,
      {
        content: [used],
      },
      {
        content: [given],
      },
    ] = messages;
    t.match(tools[0].name, /^mcp_x_y__g_[0-9a-f]{8}$/);
    t.equal(used.name, tools[0].name);
    t.match(used.id, /^functions_f_0_[0-9a-f]{8}$/);
    t.equal(given.tool_use_id, used.id);
  });
});

t.test('a PDF document in a Messages API request reaches the model', async (t) => {
  const { calls, env } = await startVendors(t, (kind, sent) =>
    sent.path.endsWith('/count_tokens') ? { body: { input_tokens: 1600 } } : answerOf(kind, sent),
  );
  onEachDatabase(t, { ...env, ...plansFile(t) }, async (t, { client }) => {
    const { key } = await client.createKey(await client.signUp());
    const titled = {
      ...pdf,
      title: 'Report',
      citations: { enabled: true },
      cache_control: { type: 'ephemeral' },
    };
    const drawn = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AAAA' } };
    const messages = [user([titled, text]), assistant([call]), user([result([text, pdf, drawn])])];
    const post = (path: string, fields: object) => client.post(path, { messages, ...fields }, { key });

    t.equal((await post('/messages', { model: 'anthropic', max_tokens: 10 })).status, 200);
    t.same(calls.anthropic.at(-1)?.body.messages, messages, 'unchanged');
    t.same((await post('/messages/count_tokens', { model: 'anthropic' })).body, { input_tokens: 1600 });
    t.same(calls.anthropic.at(-1)?.body.messages, messages);

    t.equal((await post('/messages', { model: 'openai-responses', max_tokens: 10 })).status, 200);
    const inputFile = { type: 'input_file', file_data: `data:application/pdf;base64,${data}` };
    t.match(calls['openai-responses'].at(-1)?.body.input, [
      {
        role: 'user',
        content: [
          { ...inputFile, filename: 'Report' },
          { type: 'input_text', text: 'x' },
        ],
      },
      { type: 'function_call' },
      {
        type: 'function_call_output',
        output: [
          { type: 'input_text', text: 'x' },
          { ...inputFile, filename: 'document.pdf' },
          { type: 'input_image', image_url: 'data:image/png;base64,AAAA' },
        ],
      },
    ]);
  });
});

t.test('namespaced tools are sent without hosted tools, and calls keep their namespace', async (t) => {
  const show = { type: 'function', name: 'show', parameters: { type: 'object' } };
  const space = (name: string, ...tools: object[]) => ({
    type: 'namespace',
    name,
    description: 'Shows.',
    tools,
  });
  const items = ['maps', 'charts'].map((namespace, index) => ({
    ...{ type: 'function_call', status: 'completed', call_id: `call_${index}`, name: 'show', namespace },
    arguments: `{"index":${index}}`,
  }));
  const response = { id: 'resp_1', object: 'response', created_at: 1, status: 'completed', output: items };
  const stream = eventText([
    { type: 'response.created', response: { ...response, status: 'in_progress', output: [] } },
    ...items.map((item, index) => ({ type: 'response.output_item.done', output_index: index, item })),
    { type: 'response.completed', response },
  ]);
  const { calls, env } = await startVendors(t, (_, { body }) => ({
    body: body.stream ? stream : response,
  }));
  onEachDatabase(t, { ...env, ...plansFile(t) }, async (t, { client }) => {
    const { key } = await client.createKey(await client.signUp());
    const asked = {
      ...{ model: 'openai-responses', input: 'Go' },
      tools: [
        space('maps', show, { type: 'web_search', name: 'web_search' }, { type: 'mcp', server_url: url }),
        space('charts', show, show),
        space('hosted', { type: 'web_search', name: 'web_search' }),
      ],
    };
    const offered = [space('maps', show), space('charts', show)];
    for (const stream of [false, true]) {
      const answer = await client.post('/responses', { ...asked, stream }, { key });
      t.equal(answer.status, 200, answer.text);
      const whole = stream ? answer.body.at(-1).data.response : answer.body;
      t.match(
        whole.output,
        items.map(({ status: _, ...item }) => item),
      );
      t.same(whole.tools, offered, 'the response lists the tools that the model received');
      t.same(calls['openai-responses'].at(-1)?.body.tools, offered);
      const again = await client.post(
        '/responses',
        { ...asked, input: [user('Go'), ...whole.output] },
        { key },
      );
      t.equal(again.status, 200);
      t.match(
        calls['openai-responses'].at(-1)?.body.input.slice(1),
        items.map(({ name, namespace }) => ({ name, namespace })),
      );
    }
  });
});

t.test('allowed_tools limits the choice to some of the tools', async (t) => {
  const { calls, env } = await startVendors(t);
  onEachDatabase(t, { ...env, ...plansFile(t) }, async (t, { client }) => {
    const { key } = await client.createKey(await client.signUp());
    const tools = ['f', 'g', 'h'].map((name) => ({ type: 'function', name, parameters: { type: 'object' } }));
    const named = (...names: string[]) => names.map((name) => ({ type: 'function', name }));
    const hosted = { type: 'web_search' };
    const ask = async (model: 'anthropic' | 'openai-responses', tool_choice: unknown): Promise<Body> => {
      const body = { model, input: 'Go', tools: [...tools, hosted], tool_choice };
      const answer = await client.post('/responses', body, { key });
      t.equal(answer.status, 200, answer.text);
      return calls[model].at(-1)?.body;
    };
    for (const mode of ['auto', 'required']) {
      const choice = { type: 'allowed_tools', mode, tools: [...named('f', 'g', 'unknown'), hosted] };
      t.match(await ask('openai-responses', choice), {
        tools: tools,
        tool_choice: { type: 'allowed_tools', mode, tools: named('f', 'g') },
      });
      const translated = await ask('anthropic', choice);
      t.match(translated.tools, [{ name: 'f' }, { name: 'g' }]);
      t.equal(translated.tools.length, 2);
      t.same(translated.tool_choice, mode === 'auto' ? undefined : { type: 'any' });
    }
    const none = { type: 'allowed_tools', mode: 'required', tools: [hosted] };
    t.equal((await ask('openai-responses', none)).tool_choice, 'none');
    t.notOk('tools' in (await ask('anthropic', none)));
  });
});
