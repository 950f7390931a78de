// The most tokens that a request can use, as reported by quotaExceeded. Contract section 15, decision 0032.
import t from 'tap';
import { onEachDatabase, plansFile } from '../support/service.ts';
import { upstreamsFile } from '../support/upstreams-file.ts';

const LIMIT = 100;
/** No request fits the limit, so none reaches the upstream. */
const url = 'http://127.0.0.1:9/v1';
const targets = [{ upstream: 'none', model: 'theirs' }];
const { env } = upstreamsFile({
  upstreams: [{ name: 'none', kind: 'openai', url }],
  models: [
    { name: 'm', targets },
    { name: 'short', targets, maxOutputTokens: 300, contextTokens: 100_000 },
    { name: 'small', targets, contextTokens: 200 },
    { name: 'seeing', targets, imageTokens: 40_000 },
    { name: 'vectors', task: 'embeddings', targets },
  ],
});
const DEFAULT = 1000;

const user = (content: unknown) => ({ role: 'user', content });
const image = (address: string) => user([{ type: 'image_url', image_url: { url: address } }]);
const tool = { type: 'function', function: { name: 'f', parameters: { type: 'object' } } };

onEachDatabase(
  t,
  { ...env, ...plansFile(t, { tokens: LIMIT }), DEFAULT_MAX_OUTPUT_TOKENS: String(DEFAULT) },
  async (t, { client }) => {
    const { key } = await client.createKey(await client.signUp());
    const neededBy = async (path: string, body: object): Promise<number> => {
      const answer = await client.post(path, { model: 'm', ...body }, { key });
      t.match(answer, { status: 429, body: { error: { code: 'quotaExceeded', limit: { name: 'tokens' } } } });
      return answer.body.error.limit.needed;
    };
    const completion = (messages: object[], fields: object = {}) =>
      neededBy('/chat/completions', { messages, ...fields });
    const hello = await completion([user('Hello')]);

    await t.test(
      'the input counts its bytes, plus allowances for requests, messages, and tools',
      async (t) => {
        const bytes = Buffer.byteLength('messagesroleusercontentHello');
        t.ok(hello >= DEFAULT + bytes + 64 + 16, `a request and a message: ${hello - DEFAULT}`);
        t.equal(
          (await completion([user('é'.repeat(500))])) - (await completion([user('e'.repeat(500))])),
          500,
        );
        const two = await completion([user('Hello'), user('Hello')]);
        t.ok(two - hello >= 16 + 'Hello'.length, `a message: ${two - hello}`);
        const withTool = await completion([user('Hello')], { tools: [tool] });
        t.ok(withTool - hello >= 1000 + JSON.stringify(tool).replaceAll(/[^a-z]/g, '').length, 'tools');
        const withTools = await completion([user('Hello')], { tools: [tool, tool] });
        t.ok(withTools - withTool >= 16 && withTools - withTool < 1000, 'each additional tool');
      },
    );

    await t.test('a large part of a body that is kept as text counts its bytes', async (t) => {
      const parameters = { enum: Array.from({ length: 40_000 }, (_, n) => n) };
      const large = { ...tool, function: { ...tool.function, parameters } };
      const needed = (await completion([user('Hello')], { tools: [large] })) - hello;
      t.ok(needed >= JSON.stringify(parameters).length, String(needed));
    });

    await t.test('an image counts 5,000 tokens by default, whatever its URL or size', async (t) => {
      const picture = await completion([image('https://example.com/a.png')]);
      t.ok(picture - hello > 4900 && picture - hello < 5100, String(picture - hello));
      t.equal(await completion([image(`data:image/png;base64,${'A'.repeat(20_000)}`)]), picture);
      const source = { type: 'url', url: 'https://example.com/a.png' };
      const inMessages = await neededBy('/messages', {
        ...{ max_tokens: DEFAULT, messages: [user([{ type: 'image', source }])] },
      });
      t.ok(inMessages - hello > 4900 && inMessages - hello < 5200, String(inMessages - hello));
      const input = [user([{ type: 'input_image', image_url: 'https://example.com/a.png' }])];
      const inResponses = await neededBy('/responses', { input, store: false });
      t.ok(inResponses - hello > 4900 && inResponses - hello < 5200, String(inResponses - hello));
    });

    await t.test('an image counts the imageTokens configured for the model', async (t) => {
      const picture = image('https://example.com/a.png');
      const fields = { model: 'seeing' };
      const needed = (await completion([picture], fields)) - (await completion([user('Hello')], fields));
      t.ok(needed > 39_900 && needed < 40_100, String(needed));
    });

    await t.test('images in tool results count as images', async (t) => {
      const png = { type: 'base64', media_type: 'image/png', data: 'A'.repeat(20_000) };
      const said = [
        { role: 'assistant', content: [{ type: 'tool_use', id: 'toolu_1', name: 'f', input: {} }] },
        user([
          { type: 'tool_result', tool_use_id: 'toolu_1', content: [{ type: 'image', source: png }] },
          { type: 'document', source: { type: 'content', content: [{ type: 'image', source: png }] } },
        ]),
      ];
      const inMessages = await neededBy('/messages', {
        ...{ max_tokens: DEFAULT, messages: [user('Hello'), ...said] },
      });
      t.ok(inMessages - hello > 9900 && inMessages - hello < 11_000, String(inMessages - hello));
      const output = [{ type: 'input_image', image_url: `data:image/png;base64,${'A'.repeat(20_000)}` }];
      const call = { type: 'function_call', call_id: 'c', name: 'f', arguments: '{}' };
      const input = [user('Hello'), call, { type: 'function_call_output', call_id: 'c', output }];
      const inResponses = await neededBy('/responses', { input, store: false });
      t.ok(inResponses - hello > 4900 && inResponses - hello < 5600, String(inResponses - hello));
    });

    await t.test('text counts as text, even with an image type or next to an image', async (t) => {
      const LONG = 30_000;
      const long = 'x'.repeat(LONG);
      const png = 'data:image/png;base64,AAAA';
      const inTool = (value: unknown) => ({
        tools: [{ ...tool, function: { name: 'f', parameters: { properties: { a: { default: value } } } } }],
      });
      for (const type of ['image', 'image_url', 'input_image']) {
        const messages = [{ role: 'user', type, content: long }];
        t.ok((await completion(messages)) > LONG, `a message of type ${type}`);
        const part = { type, image_url: { url: png }, source: { type: 'base64', data: 'A' }, text: long };
        t.ok((await completion([user([part])])) > LONG, `text in a part of type ${type}`);
        const needed = await completion([user('Hello')], inTool({ type, image_url: long, source: long }));
        t.ok(needed > LONG, `a default value of type ${type} in a schema`);
        const call = { id: 'c', type: 'function', function: { name: 'f', arguments: '{}' }, content: [part] };
        const calling = { role: 'assistant', content: null, tool_calls: [call] };
        t.ok((await completion([user('Hello'), calling])) > LONG, `a tool call with a part of type ${type}`);
      }
      for (const url of [
        `data:text/plain,${long}`,
        `data:application/pdf;base64,${long}`,
        `data:image/svg+xml,${long}`,
      ])
        t.ok((await completion([image(url)])) > LONG, url.slice(0, 30));
      t.ok((await completion([user([{ type: 'image_url', image_url: { url: png, detail: long } }])])) > LONG);
      const input = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: long } };
      const called = { role: 'assistant', content: [{ type: 'tool_use', id: 'toolu_1', name: 'f', input }] };
      const calls = [user('Hello'), called, user('Go on')];
      t.ok(
        (await neededBy('/messages', { max_tokens: 1, messages: calls })) > LONG,
        'the input of a tool call',
      );
    });

    await t.test('tools and schemas count as JSON, which escapes some characters', async (t) => {
      const described = (description: string) =>
        completion([user('Hello')], { tools: [{ ...tool, function: { ...tool.function, description } }] });
      const plain = await described('x'.repeat(1000));
      t.equal((await described('\u0001'.repeat(1000))) - plain, 5000, 'control characters');
      t.equal((await described('"'.repeat(1000))) - plain, 1000, 'quotes');
      const format = (title: string) => ({
        response_format: { type: 'json_schema', json_schema: { name: 'f', schema: { title } } },
      });
      const formatted = await completion([user('Hello')], format('x'.repeat(1000)));
      const escaped = await completion([user('Hello')], format('\u0001'.repeat(1000)));
      t.equal(escaped - formatted, 5000);
      const text = await completion([user('\u0001'.repeat(1000))]);
      t.equal(text, await completion([user('x'.repeat(1000))]), 'text reaches the model unescaped');
    });

    await t.test('a document by URL counts only its URL', async (t) => {
      const file = (length: number) => {
        const address = `https://example.com/${'a'.repeat(length)}`;
        return completion([user([{ type: 'file', file: { file_data: address } }])]);
      };
      t.ok((await file(1)) < hello + 200, 'its pages are unknown');
      t.equal((await file(201)) - (await file(1)), 200);
    });

    await t.test('fields that translation drops count, because other models may receive them', async (t) => {
      const needed = (length: number) =>
        neededBy('/messages', {
          ...{ max_tokens: DEFAULT, messages: [user('Hi')] },
          tools: [
            {
              ...{ name: 'f', input_schema: { type: 'object' } },
              input_examples: [{ city: 'x'.repeat(length) }],
            },
          ],
        });
      t.equal((await needed(600)) - (await needed(100)), 500);
    });

    await t.test('the longest reply is the smaller limit of client and model, times `n`', async (t) => {
      const none = await completion([user('Hello')], { max_tokens: 1 });
      const alone = async (fields: object) =>
        (await completion([user('Hello')], { max_tokens: 500, ...fields })) - none + 1;
      t.equal(await alone({}), 500);
      t.equal(await alone({ n: 3 }), 1500 + 'n'.length + 24);
      const both = 'max_completion_tokens'.length + 24;
      t.equal(await alone({ max_completion_tokens: 400 }), 400 + both, 'the smaller of two limits');
      t.equal(await alone({ model: 'short' }), 300 + 'short'.length - 'm'.length, "the model's maximum");
      t.equal(await alone({ model: 'small' }), 200 + 'small'.length - 'm'.length, "the model's context");
    });

    await t.test('the default leaves room for the prompt in the context window', async (t) => {
      const fields = { model: 'small' };
      const none = async (content: string) =>
        (await completion([user(content)], { ...fields, max_tokens: 1 })) - 'max_tokens'.length - 24 - 1;
      const answer = async (content: string) =>
        (await completion([user(content)], fields)) - (await none(content));
      const short = await answer('Hello');
      t.ok(short > 100 && short < 200 - Math.ceil('Hello'.length / 4), String(short));
      t.equal((await answer('Hello'.padEnd(155, 'x'))) - short, -50, 'one token per three bytes');
      t.equal(await answer('x'.repeat(2000)), 13, 'at least a sixteenth of the window');
    });

    await t.test('embeddings count the bytes of each text, or the tokens of each list', async (t) => {
      const embedding = (input: unknown) => neededBy('/embeddings', { model: 'vectors', input });
      const one = await embedding('a'.repeat(200));
      t.ok(one >= 200 + 16, String(one));
      t.equal((await embedding('é'.repeat(200))) - one, 200);
      t.equal(await embedding(['a'.repeat(200), 'b'.repeat(300)]), 2 * one + 100);
      t.equal(await embedding(Array.from({ length: 200 }, (_, n) => n)), one);
    });
  },
);
