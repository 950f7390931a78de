// An upstream's `concurrency` limits requests of every kind. More requests wait, or use another target. Contract section 15.
import { sql } from 'drizzle-orm';
import t, { type Test } from 'tap';
import { rowsOf } from '../../src/database/client.ts';
import { openStream } from '../support/event-reader.ts';
import { Gate } from '../support/gate.ts';
import { leavable } from '../support/leaving.ts';
import { onEachDatabase, plansFile, type TestService } from '../support/service.ts';
import { surfaces } from '../support/surfaces.ts';
import { startUpstream } from '../support/upstream/client.ts';
import { eventually, KEY } from '../support/upstream/engine.ts';
import { providerServer, vendorNames, vendors } from '../support/upstream/providers.ts';
import { wireServer } from '../support/upstream/wire.ts';
import { fileWithPackages, several, upstreamsFile } from '../support/upstreams-file.ts';

const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 };
const completion = {
  ...{ id: 'c', object: 'chat.completion', created: 1, model: 'theirs', usage },
  choices: [{ index: 0, message: { role: 'assistant', content: 'Hi' }, finish_reason: 'stop' }],
};
const chunk = {
  ...{ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'theirs', usage },
  choices: [{ index: 0, delta: { role: 'assistant', content: 'Hi' }, finish_reason: 'stop' }],
};

/** A server of each kind that responds once the gate opens. */
const kinds = {
  openai: async (t: Test, gate: Gate) => {
    const { calls, url } = await wireServer(t, async ({ body }) => {
      await gate.pass();
      return { body: body?.stream ? `data: ${JSON.stringify(chunk)}\n\ndata: [DONE]\n\n` : completion };
    });
    return { upstream: { kind: 'openai', url }, calls: () => calls };
  },
  ...Object.fromEntries(
    vendorNames.map((name) => [
      name,
      async (t: Test, gate: Gate) => {
        const server = await providerServer(t, name);
        server.set({ texts: ['Hello ', 'there.'], until: () => gate.pass() });
        const upstream = { kind: 'ai-sdk', package: vendors[name].package, url: server.url };
        return { upstream: { ...upstream, keyVariable: 'SDK_KEY' }, calls: () => server.state.calls };
      },
    ]),
  ),
};

/** Counts an account's charges for requests with a client disconnect, by state. */
async function chargesOfLeavers({ database }: TestService, accountId: string) {
  const rows = await rowsOf<{ state: string; count: number }>(
    database.db,
    sql`select state, count(*)::int as count from requests
        where account_id = ${accountId} and status = 499 group by state`,
  );
  return Object.fromEntries(rows.map(({ count, state }) => [state, count]));
}

t.test("requests beyond an upstream's concurrency wait or use another target", async (t) => {
  const other = await startUpstream();
  t.teardown(() => other.stop());
  const gate = new Gate();
  const servers = await Promise.all(
    Object.entries(kinds).map(async ([name, start]) => ({ name, ...(await start(t, gate)) })),
  );
  const env = fileWithPackages({
    upstreams: [
      { name: 'other', kind: 'openai', url: other.url },
      ...servers.map(({ name, upstream }) => ({ name, concurrency: 1, ...upstream })),
    ],
    models: servers.flatMap(({ name }) => {
      const full = { upstream: name, model: 'theirs' };
      return [
        { name: `${name}-alone`, targets: [full] },
        { name: `${name}-or-other`, targets: [full, { upstream: 'other', model: 'test-model', order: 2 }] },
      ];
    }),
  });
  onEachDatabase(t, { ...env, SDK_KEY: KEY, ...plansFile(t) }, async (t, service) => {
    const { app, client } = service;
    for (const { calls, name } of servers)
      for (const { body, path } of surfaces) {
        const what = `${name} ${path}`;
        const alone = `${name}-alone`;
        const owner = await client.signUp();
        const { key } = await client.createKey(owner);
        const before = calls().length;
        const sent = () => calls().length - before;
        const ask = (model: string) => client.post(path, { ...body('Hi'), model }, { key });
        gate.hold();
        const open = openStream(client, path, { ...body('Hi', { stream: true }), model: alone }, { key });
        await eventually(`${what}: the upstream receives a request`, async () => sent() === 1);

        const elsewhere = await ask(`${name}-or-other`);
        t.equal(elsewhere.status, 200, `${what}: the next target responds`);
        t.equal(elsewhere.headers.get('x-parley-attempts'), '1', 'no attempt at the full target');

        const attempts = () => app.engines.router?.health().find((upstream) => upstream.name === name)?.open;
        for (const stream of [false, true]) {
          const asked = { ...body('Hi', { stream }), model: alone };
          const { leave, status } = leavable(service, path, asked, key);
          await eventually(`${what}: a request waits`, async () => attempts() === 2);
          leave();
          t.equal(await status, undefined, 'the client disconnects before a response');
          await eventually(`${what}: no request waits`, async () => attempts() === 1);
        }
        await eventually(
          `${what}: requests that reached no upstream are refunded`,
          async () => (await chargesOfLeavers(service, owner.accountId)).refunded === 2,
        );
        t.equal(sent(), 1);

        // The first to arrive waits for the stream, and the second is rejected.
        const two = [ask(alone), ask(alone)];
        const refused = await Promise.race(two);
        t.match(refused, { status: 503, body: { error: { code: 'overloaded' } } }, what);
        t.equal(sent(), 1, `${what}: the upstream gets no second request`);

        gate.release();
        t.equal((await open).response.status, 200);
        await (await open).rest();
        const statuses = (await Promise.all(two)).map(({ status }) => status);
        t.same(statuses.sort(), [200, 503], `${what}: the waiting request succeeds`);
        t.equal(sent(), 2);
        t.match(
          (await client.get('/usage', { key })).body,
          { used: { chat: 3 } },
          'rejected requests are refunded',
        );
      }
  });
});

t.test(
  'with a single upstream, a client disconnect is charged only if the upstream received the request',
  async (t) => {
    const upstream = await startUpstream();
    t.teardown(() => upstream.stop());
    const { searchUrl, url } = upstream;
    const env = {
      ...{
        CHAT_URL: url,
        CHAT_MODEL: 'm=test-model',
        IMAGES_URL: url,
        EMBEDDINGS_URL: url,
        SEARCH_URL: searchUrl,
      },
      UPSTREAM_CONNECTIONS: '1',
    };
    onEachDatabase(t, { ...env, ...plansFile(t) }, async (t, service) => {
      await upstream.reset();
      await upstream.configure({ fault: 'hang' });
      for (const [path, body] of [
        ['/chat', { message: 'Hi' }],
        ['/chat', { message: 'Hi', stream: true }],
        ['/images/generations', { prompt: 'Hi' }],
        ['/embeddings', { input: 'Hi' }],
        ['/search', { query: 'Hi' }],
      ] as const) {
        const owner = await service.client.signUp();
        const { key } = await service.client.createKey(owner);
        const { calls: before } = await upstream.calls();
        const ask = () => leavable(service, path, body, key);
        const first = ask();
        await eventually(
          `${path}: the upstream receives the request`,
          async () => (await upstream.calls()).calls === before + 1,
        );
        // One of them waits for a connection, and one is rejected.
        const others = [ask(), ask()];
        t.equal(await Promise.race(others.map(({ status }) => status)), 503, path);
        for (const { leave } of others) leave();
        const charges = () => chargesOfLeavers(service, owner.accountId);
        await eventually(
          `${path}: the waiting request is refunded`,
          async () => (await charges()).refunded === 1,
        );
        t.equal(
          (await upstream.calls()).calls,
          before + 1,
          'the upstream did not receive the waiting request',
        );
        first.leave();
        await eventually(
          `${path}: the request that reached the upstream is charged`,
          async () => (await charges()).final === 1,
        );
        t.same(await charges(), { final: 1, refunded: 1 }, path);
      }
    });
  },
);

t.test(
  'a request whose deadline passes while it waits gets a refunded 504, which does not count against the target',
  async (t) => {
    const upstream = await startUpstream();
    t.teardown(() => upstream.stop());
    const CONCURRENCY = 8;
    const file = several([upstream], { concurrency: CONCURRENCY, timeouts: { idleMs: 120_000 } });
    const { env } = upstreamsFile({ ...file, deadlineMs: 1000 });
    onEachDatabase(t, { ...env, ...plansFile(t), STREAMS_PER_ACCOUNT: '100' }, async (t, { app, client }) => {
      await upstream.reset();
      await upstream.configure({ fault: 'stall', faultAfter: 1 });
      const owner = await client.signUp();
      const { key } = await client.createKey(owner);
      // The deadline does not apply after the first output.
      const holders = await Promise.all(
        Array.from({ length: CONCURRENCY }, () =>
          openStream(client, '/chat', { message: 'Hello there', stream: true }, { key }),
        ),
      );
      t.ok(holders.every(({ response }) => response.status === 200));
      const health = () => app.engines.router?.health()[0];
      // More than the 20 timeouts per hour that are refunded to an account.
      for (const { body, path } of surfaces.slice(0, 3)) {
        const ask = () => client.post(path, { ...body('Hi'), model: 'public' }, { key });
        for (const answer of await Promise.all(Array.from({ length: CONCURRENCY }, ask))) {
          t.match(answer, { status: 504, body: { error: { charged: undefined } } }, path);
          t.equal(answer.headers.get('x-parley-attempts'), null, `${path}: no attempt`);
        }
        t.match(health(), { failures: 0, attempts: 0, targets: [{ state: 'working' }] }, path);
      }
      t.equal(
        (await upstream.calls()).chat,
        CONCURRENCY,
        'the upstream did not receive the waiting requests',
      );
      t.match(
        (await client.get('/usage', { key })).body,
        { used: { chat: CONCURRENCY } },
        'all timeouts are refunded',
      );

      await upstream.reset();
      for (const { leave } of holders) leave();
      await eventually('the connections are released', async () => health()?.open === 0);
      t.match(await client.post('/chat', { message: 'Hi' }, { key }), { status: 200 }, 'the target works');
    });
  },
);
