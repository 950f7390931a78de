// The most tokens that a request can use, as the 429 of a spent limit tells it. Contract section 15, decision 0032.
import t from 'tap';
import { onEachDatabase, plansFile } from '../support/service.ts';
import { upstreamsFile } from '../support/upstreams-file.ts';

const LIMIT = 100;
/** No request fits, so none reaches the upstream. */
const url = 'http://127.0.0.1:9/v1';
const targets = [{ upstream: 'none', model: 'theirs' }];
const { env } = upstreamsFile({
  upstreams: [{ name: 'none', kind: 'openai', url }],
  models: [
    { name: 'm', targets },
    { name: 'short', targets, maxOutputTokens: 300, contextTokens: 100_000 },
    { name: 'small', targets, contextTokens: 200 },
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

    await t.test('the input: its bytes, and allowances', async (t) => {
      const bytes = Buffer.byteLength('messagesroleusercontentHello');
      t.ok(hello >= DEFAULT + bytes + 64 + 16, `a request and a message: ${hello - DEFAULT}`);
      t.equal((await completion([user('é'.repeat(500))])) - (await completion([user('e'.repeat(500))])), 500);
      const two = await completion([user('Hello'), user('Hello')]);
      t.ok(two - hello >= 16 + 'Hello'.length, `a message: ${two - hello}`);
      const withTool = await completion([user('Hello')], { tools: [tool] });
      t.ok(withTool - hello >= 1000 + JSON.stringify(tool).replaceAll(/[^a-z]/g, '').length, 'tools');
      const withTools = await completion([user('Hello')], { tools: [tool, tool] });
      t.ok(withTools - withTool >= 16 && withTools - withTool < 1000, 'each further tool');
    });

    await t.test('a part of a large body that stays text counts its bytes', async (t) => {
      const parameters = { enum: Array.from({ length: 40_000 }, (_, n) => n) };
      const large = { ...tool, function: { ...tool.function, parameters } };
      const needed = (await completion([user('Hello')], { tools: [large] })) - hello;
      t.ok(needed >= JSON.stringify(parameters).length, String(needed));
    });

    await t.test('an image counts 5,000, whatever its address or its size', async (t) => {
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

    await t.test('a document by URL counts its address only', async (t) => {
      const file = (length: number) => {
        const address = `https://example.com/${'a'.repeat(length)}`;
        return completion([user([{ type: 'file', file: { file_data: address } }])]);
      };
      t.ok((await file(1)) < hello + 200, 'nothing is known of its pages');
      t.equal((await file(201)) - (await file(1)), 200);
    });

    await t.test('what the translation drops counts too: other models may be sent it as it is', async (t) => {
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

    await t.test('the longest answer: what the client and the model allow, times `n`', async (t) => {
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

    await t.test('embeddings: the bytes of each text, or the tokens of each list', async (t) => {
      const embedding = (input: unknown) => neededBy('/embeddings', { model: 'vectors', input });
      const one = await embedding('a'.repeat(200));
      t.ok(one >= 200 + 16, String(one));
      t.equal((await embedding('é'.repeat(200))) - one, 200);
      t.equal(await embedding(['a'.repeat(200), 'b'.repeat(300)]), 2 * one + 100);
      t.equal(await embedding(Array.from({ length: 200 }, (_, n) => n)), one);
    });
  },
);
