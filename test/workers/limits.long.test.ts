// With several WORKERS, limits apply as with one process. Contract sections 5, 6, 7, and 13.
import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import t from 'tap';
import { openStream } from '../support/event-reader.ts';
import { differences } from '../support/ledger-state.ts';
import { plansFile } from '../support/service.ts';
import { startUpstream } from '../support/upstream/client.ts';
import { several, upstreamsFile } from '../support/upstreams-file.ts';
import { apart, askBoth, metric, servedByBoth, startWorkers, until } from './workers.ts';

const MIB = 1024 * 1024;
const upstream = await startUpstream();
t.teardown(() => upstream.stop());

const count = (statuses: number[], status: number) => statuses.filter((one) => one === status).length;

/** Sends the beginning of a body and keeps the connection open. `answer` returns the response received so far. */
async function beginBody(port: number, key: string, announced: number, sent: number) {
  const socket = connect(port, '127.0.0.1');
  socket.on('error', () => {});
  await once(socket, 'connect');
  let answer = '';
  socket.on('data', (data) => {
    answer += data;
  });
  const head = `POST /api/v1/chat HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\nContent-Type: application/json\r\nContent-Length: ${announced}\r\n\r\n`;
  socket.write(head);
  if (sent > 0) await new Promise<void>((resolve) => socket.write(Buffer.alloc(sent, ' '), () => resolve()));
  return { socket, answer: () => answer };
}

t.test('the rate limit is exact across both workers, and /metrics adds up their requests', async (t) => {
  const PER_MINUTE = 20;
  const { client, service } = await startWorkers(t, plansFile(t, {}, PER_MINUTE));
  const { key } = await client.createKey(await client.signUp());
  const answers = await Promise.all(
    Array.from({ length: 60 }, () => client.get('/usage', { key, headers: apart })),
  );
  const statuses = answers.map(({ status }) => status);
  t.equal(count(statuses, 200), PER_MINUTE);
  t.equal(count(statuses, 429), 40);
  const left = answers.map(({ headers }) => Number(headers.get('ratelimit-remaining')));
  t.same(
    left.filter((_, n) => statuses[n] === 200).sort((a, b) => a - b),
    Array.from({ length: PER_MINUTE }, (_, n) => n),
    'each response reports a different number of remaining requests',
  );
  await servedByBoth(service, '/api/v1/usage');

  for (const _ of [1, 2, 3]) {
    const { text } = await client.get('//metrics', { headers: apart });
    const usage = 'route="/api/v1/usage"';
    t.equal(metric(text, 'parley_http_request_duration_seconds_count', usage), 60);
    t.equal(metric(text, 'parley_info'), 1);
    t.equal(text.match(/^# TYPE parley_errors_total /gm)?.length, 1);
    const buckets = text
      .split('\n')
      .filter((line) => line.startsWith('parley_http_request_duration_seconds_bucket'))
      .filter((line) => line.includes(usage) && line.includes('status="200"'))
      .map((line) => Number(line.slice(line.lastIndexOf(' ') + 1)));
    t.same(
      buckets,
      [...buckets].sort((a, b) => a - b),
      'buckets are cumulative',
    );
    t.equal(buckets.at(-1), PER_MINUTE);
  }
});

t.test('quota, streams, upstreams, and memory', async (t) => {
  const { models, upstreams } = several([upstream, upstream]);
  const onlyOn = (name: string) => ({
    ...models[0],
    name,
    targets: [{ upstream: name, model: 'test-model' }],
  });
  const { client, databaseUrl, service } = await startWorkers(t, {
    ...plansFile(t, { chat: 50 }),
    ...upstreamsFile({
      upstreams: upstreams.map((one) => (one.name === 'b' ? { ...one, concurrency: 2 } : one)),
      models: [onlyOn('a'), onlyOn('b')],
    }).env,
    STREAMS_PER_ACCOUNT: '5',
    BODY_MEMORY_MB: '24',
  });
  const newKey = async () => (await client.createKey(await client.signUp())).key;

  await t.test('a quota is exact with 600 concurrent requests', async (t) => {
    const key = await newKey();
    const answers = await Promise.all(
      Array.from({ length: 600 }, () => client.post('/chat', { message: 'Hi', store: false }, { key })),
    );
    const statuses = answers.map(({ status }) => status);
    t.equal(count(statuses, 200), 50);
    t.equal(count(statuses, 429), 550);
    await servedByBoth(service, '/api/v1/chat');
    t.same(await differences(databaseUrl), []);
  });

  await t.test('the streams of an account are counted across both workers', async (t) => {
    await upstream.configure({ chunks: 4000, chunkIntervalMs: 50 });
    const key = await newKey();
    const body = { message: 'Hi', stream: true };
    const streams = await Promise.all(
      Array.from({ length: 12 }, () => openStream(client, '/chat', body, { key, headers: apart })),
    );
    const statuses = streams.map(({ response }) => response.status);
    t.equal(count(statuses, 200), 5);
    t.equal(count(statuses, 429), 7);
    t.equal(metric((await client.get('//metrics')).text, 'parley_streams'), 5);
    for (const stream of streams) stream.leave();
    await until('the slots are released', async () => {
      const stream = await openStream(client, '/chat', body, { key });
      stream.leave();
      return stream.response.status === 200;
    });
  });

  await t.test('the concurrency limit of an upstream holds across both workers', async (t) => {
    await upstream.configure({ headersDelayMs: 500 });
    const key = await newKey();
    const body = { model: 'b', messages: [{ role: 'user', content: 'Hi' }] };
    await askBoth(service, '/api/v1/chat/completions', async () => {
      const from = performance.now();
      // Two requests run and two wait.
      const answers = await Promise.all(
        Array.from({ length: 4 }, () => client.post('/chat/completions', body, { key, headers: apart })),
      );
      t.same(
        answers.map(({ status }) => status),
        [200, 200, 200, 200],
      );
      t.ok(performance.now() - from > 1000, 'two requests run after the other two');
    });
    await upstream.configure({});
  });

  await t.test('a body reaches the upstream unchanged, however long it is', async (t) => {
    const key = await newKey();
    for (const length of [60_000, 64 * 1024, 70_000, 200_000, MIB, 1.8 * MIB]) {
      await upstream.reset();
      const parts = Array.from({ length: Math.ceil(length / 50_000) }, (_, n) => ({
        type: 'text',
        text: `${n}`.padEnd(Math.min(50_000, length), 'x'),
      }));
      const body = { model: 'b', messages: [{ role: 'user', content: parts }] };
      t.equal(
        (await client.post('/chat/completions', body, { key, headers: apart })).status,
        200,
        `${length} bytes`,
      );
      const call = await upstream.onlyCall();
      t.same((call.body as typeof body).messages, body.messages);
    }
  });

  await t.test('both workers share one memory budget for request bodies', async (t) => {
    const port = Number(new URL(client.origin).port);
    const [one, other] = [await newKey(), await newKey()];
    const large = await beginBody(port, one, 20 * MIB, 18 * MIB);
    t.teardown(() => large.socket.destroy());
    // A refusal would arrive in this time.
    await sleep(500);
    t.equal(large.answer(), '', 'the body is being received');
    // Two requests, so that each worker gets one.
    const refused = [await beginBody(port, other, 8 * MIB, 0), await beginBody(port, other, 8 * MIB, 0)];
    for (const { answer, socket } of refused) {
      await until('the second large body is refused', () => answer().startsWith('HTTP/1.1 503'));
      t.match(answer(), /"code":"overloaded"/);
      socket.destroy();
    }
    for (const _ of [1, 2])
      t.equal((await client.post('/chat', { message: 'Hi' }, { key: other, headers: apart })).status, 200);
    large.socket.destroy();
    await until('the memory is released', async () => {
      const next = await beginBody(port, other, 8 * MIB, MIB);
      // A refusal would arrive in this time.
      await sleep(200);
      next.socket.destroy();
      return next.answer() === '';
    });
  });
});
