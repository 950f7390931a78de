// Stopping requests that run on another replica. Contract section 16. stop-deadline.long.test.ts covers the deadline.
import { randomUUID } from 'node:crypto';
import t from 'tap';
import { openStream } from '../support/event-reader.ts';
import { Client, type OpenApi } from '../support/http.ts';
import { differences } from '../support/ledger-state.ts';
import { type Replica, startCluster } from '../support/replicas.ts';
import { plansFile } from '../support/service.ts';
import { MODEL, startUpstream } from '../support/upstream/client.ts';
import { eventually } from '../support/upstream/engine.ts';

const upstream = await startUpstream();
t.teardown(() => upstream.stop());
const { client, databaseUrl, replicas } = await startCluster(t, {
  count: 2,
  // Without a model name, the first request would have to ask the upstream for it.
  env: { ...plansFile(t), CHAT_URL: upstream.url, CHAT_MODEL: MODEL },
});
const [one, other] = replicas as [Replica, Replica];
const owner = await client.signUp();
const { key } = await client.createKey(owner);
const document = (await (await fetch(`${client.origin}/openapi.json`)).json()) as OpenApi;
const clients = new Map(replicas.map((replica) => [replica, new Client(replica.origin, document)]));
const at = (replica: Replica) => clients.get(replica) as Client;
const question = { message: 'Hi', stream: true };
const notFinished = 'The process that runs this request did not respond in time';

t.beforeEach(() => upstream.configure({ chunks: 2000, chunkIntervalMs: 20 }));

async function begin(replica: Replica) {
  const stream = await openStream(at(replica), '/chat', question, { key });
  const { id } = (await stream.next())?.data ?? {};
  await stream.next();
  return { id: String(id), stream };
}

t.test('a request can be stopped by its idempotency key before the first output', async (t) => {
  await upstream.configure({ headersDelayMs: 30_000 });
  const idempotencyKey = randomUUID();
  const { chat: calls } = await upstream.calls();
  const answer = at(one).post(
    '/chat',
    { message: 'Hi' },
    { key, headers: { 'idempotency-key': idempotencyKey } },
  );
  await eventually('the upstream has the request', async () => (await upstream.calls()).chat > calls);
  const stopped = await at(other).post('/chat/cancel', { idempotency_key: idempotencyKey }, { key });
  t.match(stopped, { status: 200, body: { stopped: true } });
  t.match(await answer, { status: 200, body: { reply: '', stopped: true } });
});

t.test(
  'if a stop races with the end of a reply, both responses agree on whether the reply was stopped',
  async (t) => {
    for (let n = 0; n < 20; n += 1) {
      await upstream.configure({ chunks: 4 + n, chunkIntervalMs: 30 });
      const { id, stream } = await begin(one);
      const [answer, events] = await Promise.all([
        at(other).post(`/chat/${id}/cancel`, undefined, { key }),
        stream.rest(),
      ]);
      const done = events.at(-1);
      t.equal(done?.event, 'done');
      t.equal(answer.status, done?.data.stopped ? 200 : 409);
    }
  },
);

t.test('a stop fails while the replica is paused, and succeeds after it resumes', async (t) => {
  const { id, stream } = await begin(one);
  one.pause();
  t.teardown(() => one.resume());
  const answer = await at(other).post(`/chat/${id}/cancel`, undefined, { key });
  t.match(answer, { status: 503, body: { error: { message: new RegExp(notFinished) } } });
  one.resume();
  t.match(await at(other).post(`/chat/${id}/cancel`, undefined, { key }), { status: 200 });
  t.match((await stream.rest()).at(-1), { event: 'done', data: { stopped: true } });
});

t.test('after a replica is killed, its requests count as finished', async (t) => {
  const { id } = await begin(one);
  await one.kill('SIGKILL');
  await eventually(
    'the lease has expired',
    async () => (await at(other).post(`/chat/${id}/cancel`, undefined, { key })).status === 409,
    60_000,
  );
  t.same(await differences(databaseUrl), []);
});
