import t from 'tap';
import type { EmbeddingInput } from '../../../src/engines/types.ts';
import { createUpstreamEmbeddings } from '../../../src/engines/upstream/embeddings.ts';
import { startUpstream } from '../../support/upstream/client.ts';
import { failure, KEY, never } from '../../support/upstream/engine.ts';

const upstream = await startUpstream();
t.teardown(() => upstream.stop());
t.beforeEach(() => upstream.reset());

const models = [
  { id: 'small', upstream: 'bge-m3' },
  { id: 'large', upstream: 'large' },
];
const engine = (names: typeof models = []) =>
  createUpstreamEmbeddings({ url: upstream.url, apiKey: KEY, models: names });
const embed = (fields: Partial<EmbeddingInput> = {}, embeddings = engine()) =>
  embeddings.embed({ input: ['A', 'B'], ...fields }, never());
const base64 = (...values: number[]) => Buffer.from(Float32Array.from(values).buffer).toString('base64');
const row = (index: unknown, embedding: unknown) => ({ object: 'embedding', index, embedding });

t.test('vectors follow the order of the inputs, whatever the order of the rows', async (t) => {
  const rows = [row(1, [3, 4]), row(0, [1, 2])];
  await upstream.configure({ embeddings: { data: rows, model: 'theirs', usage: { prompt_tokens: 5 } } });
  t.same(await embed(), { vectors: ['[1,2]', '[3,4]'], model: 'theirs', promptTokens: 5 });
  await upstream.configure({ embeddings: { data: rows.map(({ embedding }) => ({ embedding })) } });
  t.same(
    await embed({ input: ['eight cha', [1, 2, 3] as never] }),
    { vectors: ['[3,4]', '[1,2]'], model: 'default', promptTokens: 6, isEstimated: true },
    'without indices, a model, and usage, the rows keep their order, and usage is estimated',
  );
});

t.test("the upstream receives the client's fields, and only configured models are accepted", async (t) => {
  await embed({ model: 'any', user: 'me', dimensions: 4 });
  t.same((await upstream.onlyCall()).body, { input: ['A', 'B'], model: 'any', user: 'me', dimensions: 4 });
  await upstream.reset();
  t.equal((await embed({}, engine(models))).model, 'small');
  t.same((await upstream.onlyCall()).body, { input: ['A', 'B'], model: 'bge-m3' });
  t.throws(() => engine(models).check({ model: 'bge-m3' }), {
    code: 'notFound',
    options: { param: 'model' },
  });
  t.doesNotThrow(() => engine(models).check({ model: 'large' }));
  t.doesNotThrow(() => engine().check({ model: 'anything' }));
});

t.test('a response in the other encoding is converted', async (t) => {
  await upstream.configure({ embeddings: { data: [row(0, [0.5, -2]), row(1, [0, 1])] } });
  t.same((await embed({ encoding_format: 'base64' })).vectors, [`"${base64(0.5, -2)}"`, `"${base64(0, 1)}"`]);
  await upstream.configure({ embeddings: { data: [row(0, base64(0.5, -2)), row(1, base64(0, 1))] } });
  t.same((await embed()).vectors, ['[0.5,-2]', '[0,1]']);
  t.same((await embed({ encoding_format: 'base64' })).vectors[1], `"${base64(0, 1)}"`);
});

t.test(
  'a request that is rejected for encoding_format is retried without it, and later requests omit it',
  async (t) => {
    await upstream.configure({ refuses: ['encoding_format'] });
    const embeddings = engine(models);
    const { vectors } = await embed({ encoding_format: 'base64', dimensions: 2 }, embeddings);
    t.match(vectors[0], /^"[A-Za-z0-9+/]{11}="$/);
    await embed({ encoding_format: 'base64' }, embeddings);
    t.equal((await upstream.calls()).embeddings, 3);
  },
);

t.test(
  'a vector with megabytes of digits arrives whole, and a lookalike in a string is ignored',
  async (t) => {
    const long = Array.from({ length: 16_000 }, (_, index) => Math.sin(index));
    await upstream.configure({
      embeddings: { note: '"embedding":[9,9]', data: [row(0, long), row(1, long)] },
    });
    t.same(JSON.parse((await embed()).vectors[1] ?? ''), long);
  },
);

const good = row(0, [1, 2]);
const wrong: Record<string, unknown> = {
  'missing data': {},
  'data that is not a list': { data: {} },
  'too few rows': { data: [good] },
  'too many rows': { data: [good, row(1, [1, 2]), row(2, [1, 2])] },
  'a duplicate index': { data: [good, good] },
  'an index out of range': { data: [good, row(2, [1, 2])] },
  'a fractional index': { data: [good, row(0.5, [1, 2])] },
  'a row without a vector': { data: [good, { index: 1 }] },
  'a number instead of a vector': { data: [good, row(1, 1)] },
  'a row that is not an object': { data: [good, 'x'] },
  'vectors of different lengths': { data: [good, row(1, [1])] },
  'empty vectors': { data: [row(0, []), row(1, [])] },
  'a null in a vector': { data: [good, row(1, [1, null])] },
  'a string in a vector': { data: [good, row(1, [1, 'x'])] },
  'a vector in a vector': { data: [good, row(1, [[1], [2]])] },
  'a number that is too large': { data: [good, row(1, [1, 1e300])] },
  'invalid base64': { data: [row(0, base64(1)), row(1, '****')] },
  'half a float': { data: [row(0, base64(1)), row(1, 'AAAA')] },
  'base64 of NaN': { data: [row(0, base64(1)), row(1, base64(Number.NaN))] },
};
for (const [name, embeddings] of Object.entries(wrong))
  t.test(`upstreamError: ${name}`, async (t) => {
    await upstream.configure({ embeddings });
    t.match(await failure(embed()), { code: 'upstreamError' });
  });

t.test('fewer dimensions than requested are invalidRequest, which is marked as provokable', async (t) => {
  await upstream.configure({ embeddings: { data: [good, row(1, [1, 2])] } });
  const error = await failure(embed({ dimensions: 3 }));
  t.match(error, { code: 'invalidRequest', options: { param: 'dimensions', isProvokable: true } });
});

t.test(
  'an input that the model rejects is invalidRequest with a reason, and an unknown model is notFound',
  async (t) => {
    await upstream.configure({ fault: 'status', status: 400, code: 'context_length_exceeded' });
    t.match(await failure(embed()), {
      code: 'invalidRequest',
      options: { reason: 'context_length_exceeded' },
    });
    await upstream.configure({ fault: 'status', status: 404, code: 'model_not_found' });
    t.match(await failure(embed({ model: 'x' })), { code: 'notFound', options: { param: 'model' } });
  },
);
