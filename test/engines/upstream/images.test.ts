import t from 'tap';
import { createUpstreamImages, type ImageInput } from '../../../src/engines/upstream/images.ts';
import { startUpstream } from '../../support/upstream/client.ts';
import { failure, KEY, never } from '../../support/upstream/engine.ts';

const upstream = await startUpstream();
t.teardown(() => upstream.stop());
t.beforeEach(() => upstream.reset());

const engine = (model?: string) => createUpstreamImages({ url: upstream.url, apiKey: KEY, model });
const draw = (input: Partial<ImageInput> = {}, images = engine('painter')) =>
  images.generate({ prompt: 'A fox', ...input }, never());

t.test('the upstream generates n images', async (t) => {
  const images = await draw({ n: 3 });
  t.equal(images.length, 3);
  t.same(Object.keys(images[0] ?? {}), ['b64_json', 'revised_prompt']);
  t.equal(
    Buffer.from(images[0]?.b64_json ?? '', 'base64')
      .subarray(1, 4)
      .toString(),
    'PNG',
  );
  t.equal((await draw()).length, 1);
});

t.test("OpenAI's fields pass through, with the configured model and always base64", async (t) => {
  await draw({ n: 1, size: '512x512', quality: 'high', user: 'u', model: 'theirs', response_format: 'url' });
  t.same((await upstream.onlyCall()).body, {
    prompt: 'A fox',
    n: 1,
    size: '512x512',
    quality: 'high',
    user: 'u',
    model: 'painter',
    response_format: 'b64_json',
  });
  await upstream.reset();
  await draw({}, engine());
  t.same((await upstream.onlyCall()).body, { prompt: 'A fox', response_format: 'b64_json' });
});

t.test('response_format is not sent to gpt-image models, which reject it', async (t) => {
  for (const model of ['gpt-image-1', 'openai/gpt-image-1-mini', 'chatgpt-image-latest']) {
    await upstream.reset();
    t.equal((await draw({}, engine(model))).length, 1);
    t.notOk('response_format' in ((await upstream.onlyCall()).body as object), model);
  }
});

t.test(
  'a request that is rejected for response_format is retried without it, and later requests omit it',
  async (t) => {
    await upstream.configure({ refuses: ['response_format'] });
    const images = engine('new-painter');
    await draw({}, images);
    await draw({}, images);
    t.equal((await upstream.calls()).images, 3);
  },
);

t.test('a URL instead of an image is upstreamError, and is not fetched', async (t) => {
  await upstream.configure({ images: { data: [{ url: `${upstream.url}/models` }] } });
  const error = await failure(draw());
  t.equal(error.code, 'upstreamError');
  t.match((error.options.cause as Error).message, /a URL instead of an image/);
  t.equal((await upstream.calls()).calls, 1);
});

t.test(
  'an invalid response is upstreamError, and fewer images than requested are invalidRequest for n',
  async (t) => {
    for (const images of [
      {},
      { data: {} },
      { data: [] },
      { data: ['x'] },
      { data: [{ b64_json: '' }] },
      { data: [{ b64_json: 7 }] },
    ]) {
      await upstream.configure({ images });
      t.equal((await failure(draw())).code, 'upstreamError', JSON.stringify(images));
    }
    await upstream.configure({ images: { data: [{ b64_json: 'AA==' }] } });
    const images = engine('painter');
    const error = await failure(draw({ n: 2 }, images));
    t.match(error, { code: 'invalidRequest', options: { param: 'n', isProvokable: true } });
    t.throws(
      () => images.check({ n: 2 }),
      { code: 'invalidRequest' },
      'later requests are rejected immediately',
    );
    t.doesNotThrow(() => images.check({ n: 1 }));
    await upstream.configure({ images: { data: [{ b64_json: 'AA==' }, { b64_json: 'BB==' }] } });
    t.same(await draw({ n: 1 }), [{ b64_json: 'AA==' }], 'extra images are dropped');
  },
);

t.test('a prompt that the model rejects is invalidRequest with a reason', async (t) => {
  await upstream.configure({ fault: 'status', status: 400, code: 'content_policy_violation' });
  const error = await failure(draw());
  t.equal(error.code, 'invalidRequest');
  t.equal(error.options.reason, 'content_policy_violation');
});

t.test('an image of several megabytes arrives whole', async (t) => {
  const b64_json = 'A'.repeat(8_000_000);
  await upstream.configure({ images: { data: [{ b64_json }] } });
  t.equal((await draw())[0]?.b64_json.length, b64_json.length);
});
