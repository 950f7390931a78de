// The deadline for stopping a request on another replica. Contract section 16. Runs alone, because it measures time.
import t from 'tap';
import { openStream } from '../support/event-reader.ts';
import { Client, type OpenApi } from '../support/http.ts';
import { type Replica, startCluster } from '../support/replicas.ts';
import { plansFile } from '../support/service.ts';
import { startUpstream } from '../support/upstream/client.ts';

const upstream = await startUpstream();
t.teardown(() => upstream.stop());
const { client, replicas } = await startCluster(t, {
  count: 2,
  env: { ...plansFile(t), CHAT_URL: upstream.url },
});
const owner = await client.signUp();
const { key } = await client.createKey(owner);
const document = (await (await fetch(`${client.origin}/openapi.json`)).json()) as OpenApi;
const [one, other] = replicas.map((replica: Replica) => new Client(replica.origin, document)) as [
  Client,
  Client,
];

t.test('a stream stops within a second when another replica cancels it', async (t) => {
  await upstream.configure({ chunks: 2000, chunkIntervalMs: 20 });
  for (const [runs, stops] of [
    [one, other],
    [other, one],
  ] as const) {
    const stream = await openStream(runs, '/chat', { message: 'Hi', stream: true }, { key });
    const { id } = (await stream.next())?.data ?? {};
    await stream.next();
    const from = performance.now();
    const answer = await stops.post(`/chat/${id}/cancel`, undefined, { key });
    const tookMs = Math.round(performance.now() - from);
    t.match(answer, { status: 200, body: { stopped: true } });
    t.ok(tookMs < 1000, `after ${tookMs} ms`);
    t.match((await stream.rest()).at(-1), { event: 'done', data: { stopped: true } });
    t.equal((await upstream.calls()).open, 0);
    t.match(await one.post(`/chat/${id}/cancel`, undefined, { key }), { status: 409 });
  }
});
