// Reliability test 61: deeply nested or oversized JSON from an upstream is upstreamError, and does not harm the service.
import t from 'tap';
import { startTestService } from '../../support/service.ts';
import { startUpstream } from '../../support/upstream/client.ts';

const nested = (depth: number): unknown => {
  let value: unknown = 'x';
  for (let level = 0; level < depth; level += 1) value = level % 2 ? [value] : { a: value };
  return value;
};
const nestedText = (depth: number) => `${'{"a":['.repeat(depth / 2)}${']}'.repeat(depth / 2)}`;

t.test('61: deeply nested responses, chunks, lists, results, and errors of an upstream → 502', async (t) => {
  const upstream = await startUpstream({});
  t.teardown(() => upstream.stop());
  const { client } = await startTestService(t, 'postgres', {
    CHAT_URL: upstream.url,
    IMAGES_URL: upstream.url,
    SEARCH_URL: upstream.searchUrl,
    EMBEDDINGS_URL: upstream.url,
  });
  const { cookie } = await client.signUp();
  const messages = [{ role: 'user', content: 'Hello' }];
  const failed = { status: 502, body: { error: { code: 'upstreamError' } } };
  const message = (extra: unknown) => ({
    choices: [{ index: 0, message: { role: 'assistant', content: 'Hi', extra }, finish_reason: 'stop' }],
  });

  // The test upstream's control endpoint cannot carry deeper nesting: its own JSON would overflow.
  for (const depth of [200, 2500]) {
    await t.test(`whole responses of ${depth} levels are upstreamError`, async (t) => {
      await upstream.configure({
        completion: message(nested(depth)),
        images: { data: [{ b64_json: nested(depth) }] },
        search: { results: nested(depth) },
        embeddings: { data: [{ embedding: nested(depth + 1) }] },
      });
      const retry = { 'idempotency-key': `deep-${depth}` };
      t.match(await client.post('/chat', { message: 'Hello' }, { cookie }), failed);
      t.match(await client.post('/chat/completions', { messages }, { cookie }), failed);
      t.match(await client.post('/chat/completions', { messages }, { cookie, headers: retry }), failed);
      t.match(await client.post('/images/generations', { prompt: 'x' }, { cookie }), failed);
      t.match(await client.post('/search', { query: 'x' }, { cookie }), failed);
      t.match(await client.post('/embeddings', { input: 'x' }, { cookie }), failed);
    });
  }

  for (const depth of [200, 5000, 50_000]) {
    await t.test(`chunks of ${depth} levels in a stream are upstreamError`, async (t) => {
      await upstream.configure({
        events: [`{"choices":[{"index":0,"delta":${nestedText(depth)}}]}`, '[DONE]'],
      });
      t.match(await client.post('/chat/completions', { messages, stream: true }, { cookie }), failed);
      t.match(await client.post('/chat', { message: 'Hello', stream: true }, { cookie }), failed);
    });
    await t.test(`an error of ${depth} levels in a stream is upstreamError`, async (t) => {
      await upstream.configure({ events: [`{"error":${nestedText(depth)}}`] });
      t.match(await client.post('/chat/completions', { messages, stream: true }, { cookie }), failed);
    });
  }

  await t.test('nesting as deep as that of tools passes through', async (t) => {
    await upstream.configure({ completion: message(nested(60)) });
    const answer = await client.post('/chat/completions', { messages }, { cookie });
    t.equal(answer.status, 200);
    t.same(answer.body.choices[0].message.extra, nested(60));
  });

  await t.test('brackets within strings do not count as nesting', async (t) => {
    const content = '[{"\\'.repeat(500);
    await upstream.configure({
      completion: { choices: [{ index: 0, message: { role: 'assistant', content }, finish_reason: 'stop' }] },
    });
    const answer = await client.post('/chat/completions', { messages }, { cookie });
    t.equal(answer.body.choices[0].message.content, content);
  });

  await t.test('too many values are 502', async (t) => {
    const objects = Array(500_000).fill({});
    await upstream.configure({
      completion: message(objects),
      images: { data: [{ b64_json: 'eA==', extra: Array(2_000_001).fill(0) }] },
      events: [`{"choices":[{"index":0,"delta":{"content":"Hi","x":${JSON.stringify(objects)}}}]}`, '[DONE]'],
    });
    t.match(await client.post('/chat', { message: 'Hello' }, { cookie }), failed, 'structural characters');
    t.match(await client.post('/images/generations', { prompt: 'x' }, { cookie }), failed, 'commas');
    t.match(
      await client.post('/chat/completions', { messages, stream: true }, { cookie }),
      failed,
      'an event',
    );
  });

  await t.test('failed requests are not charged', async (t) => {
    const { body } = await client.get('/usage', { cookie });
    t.match(body.used, { chat: 2, images: 0, search: 0, embeddings: 0 });
  });
});
