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

t.test('draws n images', async (t) => {
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

t.test("OpenAI's fields pass through; the model is the configured one, the form always base64", async (t) => {
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

t.test('gpt-image models are not asked for base64, which they refuse to be', async (t) => {
  for (const model of ['gpt-image-1', 'openai/gpt-image-1-mini', 'chatgpt-image-latest']) {
    await upstream.reset();
    t.equal((await draw({}, engine(model))).length, 1);
    t.notOk('response_format' in ((await upstream.onlyCall()).body as object), model);
  }
});

t.test('another model that refuses to be asked is asked without, and from then on at once', async (t) => {
  await upstream.configure({ refuses: ['response_format'] });
  const images = engine('new-painter');
  await draw({}, images);
  await draw({}, images);
  t.equal((await upstream.calls()).images, 3);
});

t.test('a URL is an upstreamError, and is not followed', async (t) => {
  await upstream.configure({ images: { data: [{ url: `${upstream.url}/models` }] } });
  const error = await failure(draw());
  t.equal(error.code, 'upstreamError');
  t.match((error.options.cause as Error).message, /a URL instead of an image/);
  t.equal((await upstream.calls()).calls, 1);
});

t.test(
  'answers that are none are upstreamError; fewer images than asked for are invalidRequest for n',
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
    t.throws(() => images.check({ n: 2 }), { code: 'invalidRequest' }, 'and it is known from then on');
    t.doesNotThrow(() => images.check({ n: 1 }));
    await upstream.configure({ images: { data: [{ b64_json: 'AA==' }, { b64_json: 'BB==' }] } });
    t.same(await draw({ n: 1 }), [{ b64_json: 'AA==' }], 'and more are not delivered');
  },
);

t.test('a prompt that the model refuses is invalidRequest with its reason', async (t) => {
  await upstream.configure({ fault: 'status', status: 400, code: 'content_policy_violation' });
  const error = await failure(draw());
  t.equal(error.code, 'invalidRequest');
  t.equal(error.options.reason, 'content_policy_violation');
});

t.test('a picture of several megabytes comes whole', async (t) => {
  const b64_json = 'A'.repeat(8_000_000);
  await upstream.configure({ images: { data: [{ b64_json }] } });
  t.equal((await draw())[0]?.b64_json.length, b64_json.length);
});
