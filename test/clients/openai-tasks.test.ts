// OpenAI's SDK with embedding and image models from the operator's file, whose first target is down.
import OpenAI from 'openai';
import t from 'tap';
import { plansFile, startTestService } from '../support/service.ts';
import { startUpstream } from '../support/upstream/client.ts';
import { upstreamsFile } from '../support/upstreams-file.ts';
import { isPng } from './parley.ts';

const [down, up] = await Promise.all([startUpstream({ fault: 'refuse' }), startUpstream()]);
t.teardown(() => Promise.all([down.stop(), up.stop()]));

const targets = [
  { upstream: 'down', model: 'test-model' },
  { upstream: 'up', model: 'test-model', order: 2 },
];
const { env } = upstreamsFile({
  upstreams: [
    { name: 'down', kind: 'openai', url: down.url },
    { name: 'up', kind: 'openai', url: up.url },
  ],
  models: [
    { name: 'public', targets },
    { name: 'vectors', task: 'embeddings', targets },
    { name: 'pictures', task: 'images', targets },
  ],
});

t.test("OpenAI's SDK uses embedding and image models from the operator's file", async (t) => {
  const { client } = await startTestService(t, 'embedded', { ...env, ...plansFile(t) });
  const { key: apiKey } = await client.createKey(await client.signUp());
  const openai = new OpenAI({ baseURL: `${client.origin}/api/v1`, apiKey, maxRetries: 0 });

  const listed = [];
  for await (const { id } of openai.models.list()) listed.push(id);
  t.same(listed, ['public', 'vectors', 'pictures']);

  const { data, response } = await openai.embeddings
    .create({ model: 'vectors', input: ['one', 'two'] })
    .withResponse();
  t.equal(response.headers.get('x-parley-attempts'), '2');
  t.equal(data.model, 'vectors');
  t.same(
    data.data.map(({ index }) => index),
    [0, 1],
  );
  t.ok(data.data.every(({ embedding }) => embedding.length > 1 && embedding.every(Number.isFinite)));

  const pictures = await openai.images.generate({ model: 'pictures', prompt: 'A cat', n: 2 });
  t.equal(pictures.data?.length, 2);
  t.ok(pictures.data?.every(({ b64_json }) => isPng(b64_json)));

  await t.rejects(openai.embeddings.create({ model: 'pictures', input: 'Hi' }), {
    status: 404,
    code: 'notFound',
    param: 'model',
    message: /generates images/,
  });
});
