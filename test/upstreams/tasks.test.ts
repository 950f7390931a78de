// Embeddings and images in UPSTREAMS_FILE: failover, units, plans, prices, and requests to the wrong endpoint.
import t from 'tap';
import { audit } from '../../src/store/ledger-audit.ts';
import type { Body } from '../support/http.ts';
import { operatorEnv, signInOperator } from '../support/operator.ts';
import { onEachDatabase, plansFile } from '../support/service.ts';
import { lastCharge } from '../support/spending.ts';
import { CANARY, startUpstream } from '../support/upstream/client.ts';
import { KEY } from '../support/upstream/engine.ts';
import { upstreamsFile } from '../support/upstreams-file.ts';

const [a, b] = await Promise.all([startUpstream(), startUpstream()]);
t.teardown(() => Promise.all([a.stop(), b.stop()]));
t.beforeEach(async () => void (await Promise.all([a.reset(), b.reset()])));

type Fields = Record<string, unknown>;

const messages = [{ role: 'user', content: 'Hi' }];
const tasks = {
  embeddings: { path: '/embeddings', model: 'vectors', body: { input: ['one', 'two'] }, count: 2 },
  images: { path: '/images/generations', model: 'pictures', body: { prompt: 'A cat', n: 3 }, count: 3 },
} as const;
const each = Object.entries(tasks) as [keyof typeof tasks, (typeof tasks)[keyof typeof tasks]][];

/** `b` is used if `a` fails. A new header makes `a` a new upstream, without its previous failures. */
function content(fields: { [task in 'embeddings' | 'images']?: Fields } = {}, header = 'none') {
  const upstream = (name: string, url: string) => ({
    ...{ name, kind: 'openai', url, keyVariable: 'A_KEY' },
    ...{ timeouts: { firstByteMs: 300 }, headers: { 'x-test': header } },
  });
  const targets = [
    { upstream: 'a', model: 'test-model' },
    { upstream: 'b', model: 'test-model', order: 2 },
  ];
  return {
    upstreams: [upstream('a', a.url), upstream('b', b.url)],
    models: [
      ...each.map(([task, { model }]) => ({ name: model, task, targets, ...fields[task] })),
      { name: 'public', targets },
    ],
  };
}

const faults = [
  { fault: 'refuse' },
  { fault: 'hang' },
  { fault: 'status', status: 500 },
  { fault: 'status', status: 429 },
  { fault: 'status', status: 401 },
  { fault: 'bad-json' },
] as const;

t.test(
  'if a target fails, the next target serves the request, and the failing one leaves the rotation',
  async (t) => {
    const file = upstreamsFile(content());
    onEachDatabase(t, { ...file.env, A_KEY: KEY, ...plansFile(t) }, async (t, service) => {
      const { client, database } = service;
      const owner = await client.signUp();
      const { key } = await client.createKey(owner);
      for (const fault of faults) {
        const name = JSON.stringify(fault);
        file.write(content({}, name));
        service.reload();
        for (const [task, { body, count, model, path }] of each) {
          await a.configure(fault);
          await b.reset();
          const answer = await client.post(path, { ...body, model }, { key });
          const what = `${task} ${name}`;
          t.equal(answer.status, 200, what);
          t.equal(answer.body.data.length, count, what);
          t.equal(answer.headers.get('x-parley-attempts'), '2', what);
          for (const secret of [CANARY, KEY, 'test-model', '127.0.0.1'])
            t.notOk(answer.text.includes(secret), `${what}: no ${secret}`);
          t.match(await lastCharge(service, owner.accountId), { state: 'final', units: count, model }, what);
          const { body: sent, headers } = await b.onlyCall();
          t.match(sent, { model: 'test-model' }, what);
          t.match(headers, { authorization: `Bearer ${KEY}`, 'x-test': name }, what);
          const { cookie } = owner;
          const [row] = (await client.get('/requests', { cookie })).body.data as Body[];
          t.match(row, { attempts: 2, model }, what);
        }
      }
      file.write(content({}, 'rotation'));
      service.reload();
      await a.configure({ fault: 'status', status: 500 });
      const { model, path } = tasks.embeddings;
      const attempts = [];
      for (let turn = 0; turn < 7; turn += 1) {
        const answer = await client.post(path, { model, input: 'Hi' }, { key });
        attempts.push(answer.headers.get('x-parley-attempts'));
      }
      t.same(attempts, ['2', '2', '2', '2', '2', '1', '1'], 'out of rotation after 5 failures');
      await b.configure({ fault: 'status', status: 500 });
      t.match(await client.post(path, { model, input: 'Hi' }, { key }), { status: 502 });
      t.match(await lastCharge(service, owner.accountId), { state: 'refunded' });
      t.same((await audit(database.db)).differences, []);
      const metrics = await (await fetch(`http://127.0.0.1:${service.port}/metrics`)).text();
      t.match(metrics, /parley_upstream_attempts_total\{upstream="b",outcome="success"\} \d+/);
    });
  },
);

t.test(
  'the deadline covers all attempts, and an invalid request is not retried on another target',
  async (t) => {
    const slow = { ...content(), deadlineMs: 1000 };
    const upstreams = slow.upstreams.map((upstream) => ({ ...upstream, timeouts: { firstByteMs: 60_000 } }));
    const { env } = upstreamsFile({ ...slow, upstreams });
    onEachDatabase(t, { ...env, A_KEY: KEY, ...plansFile(t) }, async (t, service) => {
      const owner = await service.client.signUp();
      const { key } = await service.client.createKey(owner);
      for (const [task, { body, model, path }] of each) {
        await a.configure({ fault: 'status', status: 400 });
        t.match(await service.client.post(path, { ...body, model }, { key }), { status: 400 }, task);
        t.equal((await b.calls())[task], 0, task);
        await a.configure({ fault: 'hang' });
        t.match(await service.client.post(path, { ...body, model }, { key }), { status: 504 }, task);
        t.equal((await b.calls())[task], 0, 'no time is left for another target');
        t.match(await lastCharge(service, owner.accountId), { state: 'refunded', status: 504 }, task);
      }
    });
  },
);

t.test('units are charged per input and image, all or nothing', async (t) => {
  const { env } = upstreamsFile(content({ embeddings: { units: 5 }, images: { units: 5 } }));
  const quotas = plansFile(t, { embeddings: 12, images: 12 });
  onEachDatabase(t, { ...env, A_KEY: KEY, ...quotas }, async (t, { client }) => {
    const { key } = await client.createKey(await client.signUp());
    for (const [task, { model, path }] of each) {
      const of = (count: number) =>
        task === 'images' ? { prompt: 'A cat', n: count } : { input: Array(count).fill('Hi') };
      const ask = (count: number) => client.post(path, { ...of(count), model }, { key });
      t.equal((await ask(2)).status, 200, `twice 5 units: ${task}`);
      for (const count of [1, 2])
        t.match(await ask(count), {
          status: 429,
          body: {
            error: {
              code: 'quotaExceeded',
              message: new RegExp(
                `costs ${5 * count} units, but only 2 of today's ${task} quota of 12 are left`,
              ),
              limit: { name: task, ceiling: 12 },
            },
          },
        });
      t.match((await client.get('/usage', { key })).body, { used: { [task]: 10, chat: 0 } });
    }
  });
});

t.test(
  'a model outside the plan is rejected without a charge and not listed, and each plan has a default model',
  async (t) => {
    const both = content({ embeddings: { plans: ['large'] }, images: { plans: ['large'] } });
    const targets = [{ upstream: 'a', model: 'theirs' }];
    const open = each.map(([task, { model }]) => ({ name: `open-${model}`, task, targets, units: 2 }));
    const { env } = upstreamsFile({ ...both, models: [...both.models, ...open] });
    onEachDatabase(t, { ...env, A_KEY: KEY, ...plansFile(t) }, async (t, { client }) => {
      const { key } = await client.createKey(await client.signUp());
      const { body: list } = await client.get('/models', { key });
      t.match(list.data, [
        { id: 'public' },
        { id: 'open-vectors', task: 'embeddings', units: 2 },
        { id: 'open-pictures', task: 'images', units: 2 },
      ]);
      t.equal(list.data.length, 3);
      const headers = { authorization: `Bearer ${key}`, 'anthropic-version': '2023-06-01' };
      const anthropic = await fetch(`${client.origin}/api/v1/models`, { headers });
      const { data } = (await anthropic.json()) as { data: Body[] };
      t.same(
        data.map(({ id }) => id),
        ['public'],
        'the Anthropic list has only chat models',
      );
      for (const [task, { body, count, model, path }] of each) {
        t.match(
          await client.post(path, { ...body, model }, { key }),
          { status: 403, body: { error: { code: 'modelNotInPlan', param: 'model' } } },
          task,
        );
        t.match((await client.get('/usage', { key })).body, { used: { [task]: 0 } }, task);
        const answer = await client.post(path, body, { key });
        t.equal(answer.status, 200, task);
        t.match((await a.calls()).last.at(-1)?.body, { model: 'theirs' }, task);
        t.match((await client.get('/usage', { key })).body, { used: { [task]: 2 * count } }, task);
      }
    });
  },
);

t.test('a model of another endpoint is 404 with the right endpoint, and not charged', async (t) => {
  const { env } = upstreamsFile(content());
  onEachDatabase(t, { ...env, A_KEY: KEY, ...plansFile(t) }, async (t, { client }) => {
    const { key } = await client.createKey(await client.signUp());
    const asked = [
      ['/chat', { message: 'Hi' }, ['vectors', 'pictures']],
      ['/chat/completions', { messages }, ['vectors', 'pictures']],
      ['/responses', { input: 'Hi' }, ['vectors', 'pictures']],
      ['/messages', { messages, max_tokens: 10 }, ['vectors', 'pictures']],
      ['/embeddings', { input: 'Hi' }, ['public', 'pictures']],
      ['/images/generations', { prompt: 'A cat' }, ['public', 'vectors']],
    ] as const;
    const use = {
      public: /is for chat. Use it with `POST \/api\/v1\/chat\/completions`/,
      vectors: /creates embeddings. Use it with `POST \/api\/v1\/embeddings`/,
      pictures: /generates images. Use it with `POST \/api\/v1\/images\/generations`/,
    };
    for (const [path, body, names] of asked)
      for (const model of names) {
        const refused = await client.post(path, { ...body, model }, { key });
        t.match(refused, { status: 404, body: { error: { message: use[model] } } }, `${path} ${model}`);
        if (path !== '/messages')
          t.match(refused.body.error, { code: 'notFound', param: 'model' }, `${path} ${model}`);
      }
    for (const [, { body, path }] of each)
      t.match(await client.post(path, { ...body, model: 'none' }, { key }), {
        status: 404,
        body: { error: { code: 'notFound', param: 'model' } },
      });
    t.match((await client.get('/usage', { key })).body, { used: { chat: 0, embeddings: 0, images: 0 } });
    t.equal((await a.calls()).last.length, 0);
  });
});

t.test('costs are exact in the operator log, and hidden from owners', async (t) => {
  const targets = (prices: Fields) => [{ upstream: 'a', model: 'test-model', prices }];
  const { env } = upstreamsFile(
    content({
      embeddings: { targets: targets({ input: 0.02 }) },
      images: { targets: targets({ image: 0.04 }) },
    }),
  );
  onEachDatabase(t, { ...env, A_KEY: KEY, ...plansFile(t), ...operatorEnv }, async (t, service) => {
    const { client } = service;
    const operator = await signInOperator(service);
    const owner = await client.signUp();
    const { cookie } = owner;
    const input = Array.from({ length: 50 }, (_, index) => `Text ${index}`);
    t.equal((await client.post('/embeddings', { model: 'vectors', input }, { cookie })).status, 200);
    const { body, path } = tasks.images;
    t.equal((await client.post(path, { ...body, model: 'pictures' }, { cookie })).status, 200);
    const { data } = (await client.get(`/operator/accounts/${owner.accountId}/requests`, operator)).body;
    const cost = Object.fromEntries(data.map((row: Body) => [row.model, [row.upstream, row.cost_micros]]));
    t.same(cost, { vectors: ['a', 150 * 0.02], pictures: ['a', 3 * 40_000] });
    const { costs } = (await client.get(`/operator/accounts/${owner.accountId}`, operator)).body;
    t.match(costs, [{ upstream: 'a', cost_micros: 3 + 120_000 }]);
    for (const page of ['/requests', '/models', '/usage/history'])
      t.notMatch((await client.get(page, { cookie })).text, /cost|micros/, page);
  });
});

t.test(
  'reload adds and removes models, and without a model, the built-in engine serves the task',
  async (t) => {
    const chatOnly = { ...content(), models: content().models.filter(({ name }) => name === 'public') };
    const file = upstreamsFile(chatOnly);
    onEachDatabase(t, { ...file.env, A_KEY: KEY, ...plansFile(t) }, async (t, service) => {
      t.teardown(() => file.write(chatOnly));
      const { client } = service;
      const { key } = await client.createKey(await client.signUp());
      const kinds = async () => (await client.get('/service')).body.engine;
      for (const [task, { body, model, path }] of each) {
        t.match(await client.post(path, body, { key }), { status: 200 });
        t.match(await client.post(path, { ...body, model: 'public' }, { key }), {
          status: 404,
          body: { error: { message: /is for chat/ } },
        });
        t.match(await kinds(), { [task]: 'builtin' });
        file.write(content());
        service.reload();
        t.match(await client.post(path, { ...body, model }, { key }), { status: 200 }, task);
        t.match(await kinds(), { [task]: 'upstream', default_model: 'public' });
        t.equal((await a.calls())[task], 1);
        file.write(chatOnly);
        service.reload();
      }
    });
  },
);
