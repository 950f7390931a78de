// Several upstreams behind one model: one request, one answer, one charge. Contract section 15.
import t from 'tap';
import { onEachDatabase, plansFile } from '../support/service.ts';
import { lastCharge } from '../support/spending.ts';
import { CANARY, startUpstream } from '../support/upstream/client.ts';
import { KEY } from '../support/upstream/engine.ts';
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

/** `b` is tried if `a` fails. A new header makes `a` a new upstream, without the failures of the old one. */
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

t.test('a target that fails before its first output costs the client nothing', async (t) => {
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
      t.same(attempts, ['2', '2', '2', '2', '2', '1', '1', '1'], `${name}: out of rotation after 5 failures`);
    }
  });
});

t.test("a client's own mistake is not tried elsewhere", async (t) => {
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

t.test('after the first output nothing is tried again', async (t) => {
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

t.test('what one account asks does not cool a target down for others', async (t) => {
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

t.test('all targets cool down: 503 with the earliest time, refunded', async (t) => {
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
    t.equal(chat, 1, 'nothing is asked while it cools down');
    const metrics = await (await fetch(`http://127.0.0.1:${service.port}/metrics`)).text();
    t.match(metrics, 'parley_upstream_attempts_total{upstream="a",outcome="failure"} 1');
    t.match(metrics, 'parley_upstream_cooling_targets{upstream="b"} 1');
  });
});

t.test('units: a model of 5 units with 12 left answers twice', async (t) => {
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
            message: /quota of 12 has only 2 units left/,
            limit: { name: 'chat', ceiling: 12 },
          },
        },
      });
    }
  });
});
