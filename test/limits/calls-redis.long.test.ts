import t from 'tap';
import { type OpenStream, openStream } from '../support/event-reader.ts';
import { hasRedis, startRedis } from '../support/redis.ts';
import { startCluster } from '../support/replicas.ts';
import { plansFile } from '../support/service.ts';
import { startUpstream } from '../support/upstream/client.ts';
import { eventually } from '../support/upstream/engine.ts';

const skip = !hasRedis() && 'redis-server is not installed (Debian: apt-get install redis-server).';
const body = { message: 'Hi', stream: true };

t.test('with Redis, slots are counted across all replicas', { skip }, async (t) => {
  const upstream = await startUpstream({ chunks: 100_000, chunkIntervalMs: 50 });
  t.teardown(() => upstream.stop());
  const redis = await startRedis(t);
  const { client, replicas } = await startCluster(t, {
    count: 2,
    env: {
      ...plansFile(t, {}),
      CHAT_URL: upstream.url,
      REDIS_URL: redis.url,
      CALLS_PER_ACCOUNT: '4',
      STREAMS_PER_ACCOUNT: '3',
    },
  });
  const [first, second] = replicas;
  if (first === undefined || second === undefined) throw new Error('This test needs two replicas.');
  const { key } = await client.createKey(await client.signUp());
  const open = (replica: typeof first) => openStream(replica.client, '/chat', body, { key });
  /** Opens a stream on each replica. Retries until each is admitted, because disconnects are noticed after a delay. */
  const openAll = async (on: (typeof first)[]) => {
    const streams: OpenStream[] = [];
    for (const replica of on)
      await eventually('a slot is free', async () => {
        const stream = await open(replica);
        if (stream.response.status !== 200) return false;
        streams.push(stream);
        return true;
      });
    return streams;
  };
  const refusal = async (replica: typeof first) =>
    (await replica.client.post('/chat', body, { key })).body?.error?.code;

  await t.test('streams on one replica count on the other', async (t) => {
    const streams = await openAll([first, first, second]);
    t.equal(await refusal(first), 'tooManyStreams');
    t.equal(await refusal(second), 'tooManyStreams');
    streams[0]?.leave();
    streams.push(...(await openAll([second])));
    t.equal(await refusal(first), 'tooManyStreams');
    for (const { leave } of streams.slice(1)) leave();
  });

  await t.test('the slots of a killed replica are released when its lease expires', async (t) => {
    await openAll([first, first, first]);
    t.equal(await refusal(second), 'tooManyStreams');
    await first.kill('SIGKILL');
    t.equal(await refusal(second), 'tooManyStreams', 'the lease has not expired yet');
    await eventually(
      'the slots are released',
      async () => {
        const { leave, response } = await open(second);
        leave();
        // Leaves the slot time to become free before the next attempt.
        await new Promise((resolve) => setTimeout(resolve, 250));
        return response.status === 200;
      },
      40_000,
    );
    await first.start();
  });

  await t.test('a stream that outlives its lease keeps its slot', async (t) => {
    const streams = await openAll([second, second, second]);
    // A lease is 30 seconds.
    await new Promise((resolve) => setTimeout(resolve, 33_000));
    t.equal(await refusal(first), 'tooManyStreams');
    await redis.flush();
    const isTold = async () => (await redis.keys()).some((name) => name.startsWith('parley:streams:'));
    await eventually('replicas restore the slots in a flushed Redis', isTold, 15_000);
    t.equal(await refusal(first), 'tooManyStreams');
    for (const { leave } of streams) leave();
    await eventually('all streams have ended', async () => (await upstream.calls()).open === 0);
  });

  await t.test('without Redis, each replica counts separately', async (t) => {
    await redis.kill();
    const streams = [];
    for (const replica of [first, second]) {
      const mine = await openAll([replica, replica, replica]);
      t.equal(await refusal(replica), 'tooManyStreams');
      streams.push(...mine);
    }
    for (const { leave } of streams) leave();
  });
});
