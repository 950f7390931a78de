// The request log records the requested model of a failed request on every surface.
import { randomUUID } from 'node:crypto';
import t from 'tap';
import type { Body } from '../support/http.ts';
import { meteredRequests } from '../support/metered.ts';
import { onEachDatabase } from '../support/service.ts';
import { startUpstream } from '../support/upstream/client.ts';
import { upstreamsFile } from '../support/upstreams-file.ts';

const upstream = await startUpstream();
t.teardown(() => upstream.stop());

const targets = [{ upstream: 'a', model: 'test-model' }];
const { env } = upstreamsFile({
  upstreams: [{ name: 'a', kind: 'openai', url: upstream.url }],
  models: [
    { name: 'talker', targets },
    { name: 'embedder', task: 'embeddings', targets },
    { name: 'painter', task: 'images', targets },
  ],
});

const models = { chat: 'talker', embeddings: 'embedder', images: 'painter' };
/** Search has no models. */
const requests = meteredRequests('Hi').flatMap(({ body, meter, path }) =>
  meter === 'search' ? [] : [{ path, body, model: models[meter] }],
);

onEachDatabase(t, env, async (t, { client }) => {
  const owner = await client.signUp();
  const { key } = await client.createKey(owner);
  await upstream.configure({ fault: 'status', status: 500 });

  for (const { body, model, path } of requests)
    for (const retry of [false, true])
      await t.test(`${path} ${JSON.stringify(body)}${retry ? ' with an idempotency key' : ''}`, async (t) => {
        const headers = retry ? { 'idempotency-key': randomUUID() } : {};
        const { headers: sent, status } = await client.post(path, body, { key, headers });
        t.ok(status === 502 || status === 503, `the target fails, or is paused after failures: ${status}`);
        const { data } = (await client.get(`/requests?model=${model}`, { cookie: owner.cookie })).body;
        const row = data.find(({ id }: Body) => id === sent.get('x-request-id'));
        t.match(row, { endpoint: `POST /api/v1${path}`, model, state: 'refunded', status });
      });
});
