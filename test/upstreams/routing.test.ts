// Several upstreams behind one model: one request, one reply, one charge. Contract section 15.
import { setTimeout as delay } from 'node:timers/promises';
import t from 'tap';
import { leavable } from '../support/leaving.ts';
import { onEachDatabase, plansFile, type TestService } from '../support/service.ts';
import { lastCharge } from '../support/spending.ts';
import { CANARY, startUpstream } from '../support/upstream/client.ts';
import { eventually, KEY } from '../support/upstream/engine.ts';
import { several, upstreamsFile } from '../support/upstreams-file.ts';

const [a, b] = await Promise.all([startUpstream(), startUpstream()]);
t.teardown(() => Promise.all([a.stop(), b.stop()]));
t.beforeEach(async () => void (await Promise.all([a.reset(), b.reset()])));

const messages = [{ role: 'user', content: 'Hi' }];
const ways = [
  { path: '/chat', body: { message: 'Hi' } },
  { path: '/chat/completions', body: { messages } },
  { path: '/responses', body: { input: 'Hi' } },
  { path: '/messages', body: { messages, max_tokens: 100 } },
].flatMap(({ body, path }) => [false, true].map((stream) => ({ path, body: { ...body, stream } })));

/** `b` is used if `a` fails. A new header makes `a` a new upstream, without its previous failures. */
function inOrder(header: string, model: Record<string, unknown> = {}) {
  const given = { keyVariable: 'A_KEY', timeouts: { firstByteMs: 300, idleMs: 300 } };
  const file = several([a, b], { ...given, headers: { 'x-test': header } }, model);
  const [first, second] = file.models[0]?.targets ?? [];
  return { ...file, models: [{ ...file.models[0], targets: [first, { ...second, order: 2 }] }] };
}

const faults = [
  { fault: 'refuse' },
  { fault: 'reset' },
  { fault: 'hang' },
  { fault: 'status', status: 500 },
  { fault: 'status', status: 429 },
  { fault: 'status', status: 401 },
  { fault: 'content-type' },
  { fault: 'bad-json' },
  { fault: 'error-body' },
  { fault: 'redirect' },
] as const;

t.test(
  'if a target fails before its first output, the next target serves the request, which is charged once',
  async (t) => {
    const file = upstreamsFile(inOrder('none'));
    onEachDatabase(t, { ...file.env, A_KEY: KEY, ...plansFile(t) }, async (t, service) => {
      const { client } = service;
      const owner = await client.signUp();
      const { key } = await client.createKey(owner);
      for (const fault of faults) {
        const name = JSON.stringify(fault);
        file.write(inOrder(name));
        service.reload();
        await a.configure(fault);
        const attempts: (string | null)[] = [];
        for (const { body, path } of ways) {
          await b.reset();
          const what = `${name} ${path} ${body.stream}`;
          const answer = await client.post(path, body, { key });
          t.equal(answer.status, 200, what);
          t.match(answer.text, body.stream ? 'Hi' : 'You said: Hi', what);
          for (const secret of [CANARY, KEY, 'test-model', '127.0.0.1'])
            t.notOk(answer.text.includes(secret), `${what}: no ${secret}`);
          attempts.push(answer.headers.get('x-parley-attempts'));
          const charge = await lastCharge(service, owner.accountId);
          t.match(charge, { state: 'final', status: 200, units: 1, model: 'public' }, what);
          const { chat, last } = await b.calls();
          t.equal(chat, 1, what);
          t.match(last[0], { body: { model: 'test-model' }, headers: { 'x-test': name } }, what);
          t.equal(last[0]?.headers.authorization, `Bearer ${KEY}`);
        }
        t.same(
          attempts,
          ['2', '2', '2', '2', '2', '1', '1', '1'],
          `${name}: out of rotation after 5 failures`,
        );
      }
    });
  },
);

t.test('an invalid request is not retried on another target', async (t) => {
  const { env } = upstreamsFile(inOrder('none'));
  onEachDatabase(t, { ...env, A_KEY: KEY }, async (t, service) => {
    const owner = await service.client.signUp();
    const { key } = await service.client.createKey(owner);
    for (const status of [400, 413, 422]) {
      await a.configure({ fault: 'status', status });
      for (const { body, path } of ways) {
        const answer = await service.client.post(path, body, { key });
        t.match(answer, { status: 400 }, `${path} ${status}`);
        t.match(await lastCharge(service, owner.accountId), { state: 'refunded' });
      }
    }
    t.equal((await b.calls()).chat, 0);
  });
});

t.test('a request is not retried after the first output', async (t) => {
  const { env } = upstreamsFile(inOrder('none'));
  onEachDatabase(t, { ...env, A_KEY: KEY }, async (t, service) => {
    const owner = await service.client.signUp();
    const { key } = await service.client.createKey(owner);
    for (const fault of ['cut', 'truncate', 'error-event', 'stall'] as const) {
      await a.configure({ fault, faultAfter: 3, chunks: 10, chunkIntervalMs: 20 });
      const answer = await service.client.post('/chat', { message: 'Hi', stream: true }, { key });
      t.match(answer.body.at(-1), { event: 'error' }, fault);
      t.match(await lastCharge(service, owner.accountId), { state: 'final', units: 1 }, fault);
    }
    t.equal((await b.calls()).chat, 0);
  });
});

t.test("one account's failures do not cool a target down for other accounts", async (t) => {
  const file = upstreamsFile(several([a]));
  onEachDatabase(t, file.env, async (t, { client }) => {
    const [mallory, alice] = [await client.signUp(), await client.signUp()];
    const ask = ({ cookie }: { cookie: string }) => client.post('/chat', { message: 'Hi' }, { cookie });
    await a.configure({ fault: 'status', status: 500 });
    for (let count = 0; count < 5; count += 1) t.equal((await ask(mallory)).status, 502);
    await a.reset();
    t.match(await ask(mallory), { status: 503, body: { error: { code: 'overloaded' } } });
    t.equal((await ask(alice)).status, 200);
  });
});

const stateOf = ({ app }: TestService, name: string) => {
  const { open, targets } = app.engines.router?.health().find((upstream) => upstream.name === name) ?? {};
  return { open, state: targets?.[0]?.state };
};

t.test('a silent target leaves the rotation, even if clients disconnect before its timeout', async (t) => {
  // A quarter of the first-byte timeout.
  const silentMs = 2000;
  const file = several([a, b], { keyVariable: 'A_KEY', timeouts: { firstByteMs: 4 * silentMs } });
  const [first, second] = file.models[0]?.targets ?? [];
  const models = ['silent', 'alive', 'impatient'].map((name) => ({
    ...{ name },
    targets: [
      { ...first, model: name },
      { ...second, model: name, order: 2 },
    ],
  }));
  const { env } = upstreamsFile({ ...file, models });
  onEachDatabase(t, { ...env, A_KEY: KEY, ...plansFile(t) }, async (t, service) => {
    const owners = [await service.client.signUp(), await service.client.signUp()];
    const keys = await Promise.all(owners.map(async (owner) => (await service.client.createKey(owner)).key));
    const body = (model: string, user?: string) => ({ model, messages, ...(user && { user }) });
    const state = (model: string) =>
      service.app.engines.router
        ?.health()
        .find(({ name }) => name === 'a')
        ?.targets.find((target) => target.model === model)?.state;

    /** Six clients of two accounts send requests to `a`, and disconnect after a while. */
    const leaveAll = async (model: string, ms: number, meanwhile = async () => {}) => {
      const { chat: before } = await a.calls();
      const asked = body(model, 'fault=hang');
      const clients = Array.from({ length: 6 }, (_, number) =>
        leavable(
          service,
          '/chat/completions',
          { ...asked, stream: number % 3 === 0 },
          keys[number % 2] ?? '',
        ),
      );
      await eventually('the target receives all requests', async () => (await a.calls()).chat === before + 6);
      await meanwhile();
      await delay(ms);
      for (const { leave } of clients) leave();
      await eventually('all attempts end', async () => stateOf(service, 'a').open === 0);
    };

    await leaveAll('impatient', 0);
    t.equal(state('impatient'), 'working', 'early disconnects do not count against the target');

    await leaveAll('alive', silentMs + 10, async () => {
      const answer = await service.client.post('/chat/completions', body('alive'), { key: keys[0] ?? '' });
      t.match(answer, { status: 200 });
      t.equal(answer.headers.get('x-parley-attempts'), '1');
    });
    t.equal(state('alive'), 'working', 'the target responds to other requests');

    await leaveAll('silent', silentMs + 10);
    t.equal(state('silent'), 'coolingDown');
    const answer = await service.client.post('/chat/completions', body('silent'), { key: keys[0] ?? '' });
    t.match(answer, { status: 200 });
    t.equal(answer.headers.get('x-parley-attempts'), '1', 'the other target serves the first attempt');
  });
});

t.test(
  'a target leaves the rotation for everyone when half of the last 20 requests of several accounts fail',
  async (t) => {
    const file = upstreamsFile(several([a]));
    onEachDatabase(t, { ...file.env, ...plansFile(t) }, async (t, service) => {
      const { client } = service;
      const owners = await Promise.all(Array.from({ length: 4 }, () => client.signUp()));
      const ask = (number: number, user?: string) =>
        client.post(
          '/chat/completions',
          { messages, ...(user && { user }) },
          { cookie: owners[number % owners.length]?.cookie ?? '' },
        );
      for (let number = 0; number < 20; number += 1) {
        const fails = number % 2 === 1;
        const answer = await ask(number + Math.floor(number / 4), fails ? 'fault=status' : undefined);
        t.equal(answer.status, fails ? 502 : 200, `request ${number}`);
      }
      t.equal(stateOf(service, 'a').state, 'coolingDown');
      for (let number = 0; number < owners.length; number += 1) t.equal((await ask(number)).status, 503);
    });
  },
);

t.test('responses that continue each other use the same target', async (t) => {
  const { env } = upstreamsFile(several([a, b]));
  onEachDatabase(t, { ...env, ...plansFile(t) }, async (t, { client }) => {
    const { key } = await client.createKey(await client.signUp());
    for (let conversation = 0; conversation < 8; conversation += 1) {
      await Promise.all([a.reset(), b.reset()]);
      const { body: root } = await client.post('/responses', { input: 'Hi' }, { key });
      let previous = root.id;
      for (const from of ['last', 'last', 'root']) {
        const continued = { input: 'And?', previous_response_id: from === 'root' ? root.id : previous };
        const answer = await client.post('/responses', continued, { key });
        t.equal(answer.status, 200);
        previous = answer.body.id;
      }
      const counts = [(await a.calls()).chat, (await b.calls()).chat];
      t.same(counts.sort(), [0, 4], `conversation ${conversation}`);
    }
  });
});

t.test('the deadline of a chat request covers all attempts', async (t) => {
  const deadlineMs = 1500;
  const file = several([a, b]);
  const timeouts = [{ firstByteMs: 300 }, { firstByteMs: 120_000 }];
  const upstreams = file.upstreams.map((upstream, index) => ({ ...upstream, timeouts: timeouts[index] }));
  const [first, second] = file.models[0]?.targets ?? [];
  const models = [{ ...file.models[0], targets: [first, { ...second, order: 2 }] }];
  const { env } = upstreamsFile({ ...file, upstreams, models, deadlineMs });
  onEachDatabase(t, { ...env, ...plansFile(t) }, async (t, service) => {
    await Promise.all([a.configure({ fault: 'hang' }), b.configure({ fault: 'hang' })]);
    for (const { body, path } of ways.slice(0, 4)) {
      const owner = await service.client.signUp();
      const { key } = await service.client.createKey(owner);
      const startedAt = performance.now();
      const answer = await service.client.post(path, body, { key });
      const ms = performance.now() - startedAt;
      t.match(answer, { status: 504 }, path);
      t.equal(answer.headers.get('x-parley-attempts'), '2', `${path}: the deadline ends the second attempt`);
      t.ok(ms >= deadlineMs - 50 && ms < 30_000, `${path}: after ${ms} ms`);
      t.match(await lastCharge(service, owner.accountId), { state: 'refunded', status: 504, units: 1 });
    }
  });
});

t.test(
  'if all targets are cooling down, the request is a refunded 503 with the earliest Retry-After',
  async (t) => {
    const file = upstreamsFile(several([a, b]));
    onEachDatabase(t, file.env, async (t, service) => {
      const owner = await service.client.signUp();
      const { key } = await service.client.createKey(owner);
      await Promise.all([
        a.configure({ fault: 'status', status: 429, retryAfter: '200' }),
        b.configure({ fault: 'status', status: 503, retryAfter: '90' }),
      ]);
      const ask = () => service.client.post('/chat', { message: 'Hi' }, { key });
      t.ok((await ask()).status >= 502);
      const refused = await ask();
      t.match(refused, { status: 503, body: { error: { code: 'overloaded' } } });
      const seconds = Number(refused.headers.get('retry-after'));
      t.ok(seconds > 60 && seconds <= 90, `after ${seconds} s`);
      t.match(await lastCharge(service, owner.accountId), { state: 'refunded', status: 503 });
      const { chat } = await a.calls();
      t.equal(chat, 1, 'a target gets no requests during its cooldown');
      const metrics = await (await fetch(`http://127.0.0.1:${service.port}/metrics`)).text();
      t.match(metrics, 'parley_upstream_attempts_total{upstream="a",outcome="failure"} 1');
      t.match(metrics, 'parley_upstream_cooling_targets{upstream="b"} 1');
    });
  },
);

t.test('a model of 5 units can be used twice with 12 units left', async (t) => {
  const { env } = upstreamsFile(several([a], {}, { units: 5 }));
  onEachDatabase(t, { ...env, ...plansFile(t, { chat: 12 }) }, async (t, service) => {
    for (const { body, path } of ways) {
      const owner = await service.client.signUp();
      const { key } = await service.client.createKey(owner);
      const statuses = [];
      for (let turn = 0; turn < 2; turn += 1)
        statuses.push((await service.client.post(path, body, { key })).status);
      t.same(statuses, [200, 200], path);
      t.match(await service.client.post(path, body, { key }), {
        status: 429,
        body: {
          error: {
            code: 'quotaExceeded',
            message: /costs 5 units, but only 2 of today's chat quota of 12 are left/,
            limit: { name: 'chat', ceiling: 12 },
          },
        },
      });
    }
  });
});
