import t from 'tap';
import { type ModelMap, parseModelMap } from '../../../src/engines/upstream/model-map.ts';
import { createModelList } from '../../../src/engines/upstream/models.ts';
import { createTransport } from '../../../src/engines/upstream/transport.ts';
import { startUpstream } from '../../support/upstream/client.ts';
import { asking, chatEngine, eventually, failure, fits, never } from '../../support/upstream/engine.ts';

const upstream = await startUpstream();
t.teardown(() => upstream.stop());
t.beforeEach(() => upstream.reset());

/** A model list with a simulated clock. */
function listAt(map: ModelMap) {
  const clock = { ms: 0 };
  const transport = createTransport({ url: upstream.url });
  /** The number of requests for the list that have ended. */
  const ended = { count: 0 };
  const json: typeof transport.json = (request) =>
    transport.json(request).finally(() => {
      ended.count += 1;
    });
  const list = createModelList({ json }, map, '/models', () => clock.ms);
  return { clock, ended, list, ids: async () => (await list.models()).map(({ id }) => id) };
}
const fetches = async () => (await upstream.calls()).models;

t.test('CHAT_MODEL accepts nothing, a name, or a list of names and pairs', async (t) => {
  t.same(parseModelMap(undefined), { kind: 'listed' });
  t.same(parseModelMap('  '), { kind: 'listed' });
  t.same(parseModelMap(' llama3.2:3b '), { kind: 'preferred', name: 'llama3.2:3b' });
  t.same(parseModelMap('fast = org/tiny-1, plain'), {
    kind: 'exact',
    models: [
      { id: 'fast', upstream: 'org/tiny-1' },
      { id: 'plain', upstream: 'plain' },
    ],
  });
  t.same(parseModelMap('one=two'), { kind: 'exact', models: [{ id: 'one', upstream: 'two' }] });
});

t.test('an invalid CHAT_MODEL is rejected with a message', async (t) => {
  const wrong = {
    'a,': /empty entry/,
    ',': /empty entry/,
    '=b': /must list names/,
    'a=': /must list names/,
    'a=b=c': /must list names/,
    'a,b,a': /"a" twice/,
    'a=x,a=y': /"a" twice/,
  };
  for (const [value, message] of Object.entries(wrong))
    t.throws(() => parseModelMap(value), { message }, value);
  t.throws(() => parseModelMap('x'.repeat(201)), { message: /200 characters/ });
  t.throws(() => parseModelMap('a\u0007'), { message: /must list names/ });
});

t.test("without CHAT_MODEL, the list is the upstream's, with its first model as the default", async (t) => {
  const models = await chatEngine(upstream.url).models();
  fits('ModelList', { object: 'list', data: models });
  t.same(
    models.map(({ id }) => id),
    ['test-model', 'test-model-small'],
  );
  t.match(models[0], { created: 1_763_596_800, owned_by: 'test' });
});

t.test(
  'a name comes first, listed by the upstream or not, and is the only model if there is no list',
  async (t) => {
    t.same(await listAt({ kind: 'preferred', name: 'test-model-small' }).ids(), [
      'test-model-small',
      'test-model',
    ]);
    t.same(await listAt({ kind: 'preferred', name: 'other' }).ids(), [
      'other',
      'test-model',
      'test-model-small',
    ]);
    await upstream.configure({ fault: 'status', status: 404 });
    t.same(await listAt({ kind: 'preferred', name: 'other' }).ids(), ['other']);
  },
);

t.test('with a name, only the first call waits for an upstream list that hangs', async (t) => {
  await upstream.configure({ fault: 'hang' });
  const clock = { ms: 0 };
  const transport = createTransport({ url: upstream.url, firstByteTimeoutMs: 3000 });
  const list = createModelList(transport, { kind: 'preferred', name: 'other' }, '/models', () => clock.ms);
  t.same(
    (await list.models()).map(({ id }) => id),
    ['other'],
  );
  clock.ms = 5000;
  const startedAt = performance.now();
  t.same(
    (await list.models()).map(({ id }) => id),
    ['other'],
  );
  t.ok(performance.now() - startedAt < 2500);
  const error = await failure(
    createModelList(createTransport({ url: upstream.url, firstByteTimeoutMs: 200 }), {
      kind: 'listed',
    }).models(),
  );
  t.equal(error.code, 'upstreamTimeout', 'without a name, a list that hangs is upstreamTimeout');
});

t.test(
  'with pairs, the list has exactly these models, no request is sent, and each maps to its upstream name',
  async (t) => {
    const { ids, list } = listAt(parseModelMap('fast=org/tiny-1,plain'));
    t.same(await ids(), ['fast', 'plain']);
    fits('ModelList', { object: 'list', data: await list.models() });
    t.equal(list.upstreamName('fast'), 'org/tiny-1');
    t.equal(list.upstreamName('plain'), 'plain');
    t.equal(await fetches(), 0);
  },
);

t.test(
  'without a list and a name, calls fail with upstreamError, and the log suggests CHAT_MODEL',
  async (t) => {
    for (const settings of [
      { fault: 'status', status: 500 },
      { fault: 'refuse' },
      { fault: 'bad-json' },
      { models: { data: [] } },
      { models: { object: 'list' } },
    ] as const) {
      await upstream.configure(settings);
      const error = await failure(chatEngine(upstream.url).models());
      t.equal(error.code, 'upstreamError', JSON.stringify(settings));
      t.match((error.options.cause as Error).message, /CHAT_MODEL does not name a model/);
    }
  },
);

t.test('concurrent calls share one request', async (t) => {
  await upstream.configure({ firstChunkDelayMs: 50 });
  const { ids } = listAt({ kind: 'listed' });
  await Promise.all(Array.from({ length: 50 }, ids));
  t.equal(await fetches(), 1);
});

t.test('the list is cached for a minute, then served stale while it refreshes', async (t) => {
  const { clock, ids } = listAt({ kind: 'listed' });
  await ids();
  clock.ms = 59_999;
  await ids();
  t.equal(await fetches(), 1);

  await upstream.configure({ models: { data: [{ id: 'new' }] } });
  clock.ms = 60_000;
  t.same(await ids(), ['test-model', 'test-model-small'], 'the stale list, immediately');
  await eventually('the new list is served', async () => (await ids()).includes('new'));
  t.equal(await fetches(), 2);
});

t.test(
  'a stale list is served while the upstream fails, and is fetched again after five seconds',
  async (t) => {
    const { clock, ended, ids } = listAt({ kind: 'listed' });
    await ids();
    await upstream.configure({ fault: 'status' });
    clock.ms = 60_000;
    await ids();
    await eventually('the request for the list fails', async () => ended.count === 2);
    t.equal(await fetches(), 2);
    clock.ms = 64_999;
    t.same(await ids(), ['test-model', 'test-model-small']);
    t.equal(await fetches(), 2);
    await upstream.configure({ models: [{ id: 'back' }] });
    clock.ms = 65_100;
    await eventually('the new list is served', async () => (await ids()).includes('back'));
  },
);

t.test('a failure is cached for five seconds', async (t) => {
  await upstream.configure({ fault: 'status' });
  const { clock, ids } = listAt({ kind: 'listed' });
  await failure(ids());
  await failure(ids());
  t.equal(await fetches(), 1);
  await upstream.configure({});
  clock.ms = 5000;
  t.same(await ids(), ['test-model', 'test-model-small']);
});

t.test('invalid entries are left out of the list', async (t) => {
  const data = [
    { id: 'a' },
    { id: 7 },
    null,
    'text',
    { id: '' },
    { id: 'a' },
    { id: 'b', created: 'yesterday', owned_by: 5, permission: [] },
    { id: 'x'.repeat(201) },
  ];
  await upstream.configure({ models: { data } });
  const models = await chatEngine(upstream.url).models();
  fits('ModelList', { object: 'list', data: models });
  t.same(
    models.map(({ id }) => id),
    ['a', 'b'],
  );
});

t.test('a chat request does not fetch the list', async (t) => {
  await upstream.configure({});
  await chatEngine(upstream.url).complete(asking('Hello'), never());
  t.equal(await fetches(), 0);
});
