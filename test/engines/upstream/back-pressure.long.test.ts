import { setTimeout as pause } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import t from 'tap';
import { startUpstream } from '../../support/upstream/client.ts';
import { asking, chatEngine, collect, eventually, never } from '../../support/upstream/engine.ts';

const upstream = await startUpstream();
t.teardown(() => upstream.stop());
t.beforeEach(() => upstream.reset());
/** The timeouts are too long to end a request before the test does. */
const chat = chatEngine(upstream.url, { firstByteTimeoutMs: 120_000, idleTimeoutMs: 120_000 });
const MIB = 1024 * 1024;
/** An upstream that sends as fast as its client reads. */
const flood = 'chunks=1000000,chunkSize=1000';
const iterate = (user: string, signal = never(), engine = chat) =>
  engine.stream(asking('Go', { user }), signal)[Symbol.asyncIterator]();

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

/** The memory in use, in KiB. */
function memory(): number {
  collectGarbage();
  const { external, heapUsed } = process.memoryUsage();
  return (external + heapUsed) / 1024;
}

/** Resolves with the time until the upstream's only request is aborted. The contract allows one second. */
async function untilAborted(): Promise<number> {
  const at = Date.now();
  await eventually('the upstream request is aborted', async () => (await upstream.calls()).aborted === 1);
  return ((await upstream.onlyCall()).abortedAt as number) - at;
}

/** Waits until the upstream has sent nothing for half a second. Returns the number of bytes sent. */
async function standstill(): Promise<number> {
  let sent = -1;
  await eventually('the upstream stops sending', async () => {
    const before = sent;
    await pause(500);
    sent = (await upstream.calls()).bytes;
    return sent === before;
  });
  return sent;
}

t.test(
  'a consumer that stops reading pauses the upstream within bounded memory, and can resume',
  async (t) => {
    const chunks = iterate(flood);
    await chunks.next();
    const sent = await standstill();
    t.ok(sent < 16 * MIB, `only kernel buffers fill up: ${sent / MIB} MiB`);

    for (let pulled = 0; pulled < 20_000; pulled += 1) await chunks.next();
    t.ok((await upstream.calls()).bytes > 20 * MIB, 'the stream resumes');
    await chunks.return?.();
  },
);

t.test('50 consumers that stop reading use less than 200 KiB each', async (t) => {
  const engine = chatEngine(upstream.url, { firstByteTimeoutMs: 120_000 });
  const before = memory();
  const streams = Array.from({ length: 50 }, () => iterate(flood, never(), engine));
  await Promise.all(streams.map((chunks) => chunks.next()));
  await standstill();
  const grown = (memory() - before) / streams.length;
  t.ok(grown < 200, `${Math.round(grown)} KiB`);
  await Promise.all(streams.map((chunks) => chunks.return?.()));
  await eventually('all upstream requests are aborted', async () => (await upstream.calls()).open === 0);
});

t.test('a consumer that pauses for longer than the idle timeout does not trigger it', async (t) => {
  const engine = chatEngine(upstream.url, { idleTimeoutMs: 1000 });
  const chunks = iterate(flood, never(), engine);
  for (let round = 0; round < 3; round += 1) {
    for (let pulled = 0; pulled < 1000; pulled += 1) await chunks.next();
    await pause(1500);
  }
  t.equal((await chunks.next()).done, false);
  await chunks.return?.();
});

t.test('breaking out of the loop closes the connection immediately', async (t) => {
  for await (const _ of chat.stream(asking('Go', { user: 'chunks=1000,chunkIntervalMs=20' }), never())) break;
  t.ok((await untilAborted()) < 1000);
});

t.test('return() does not wait for a silent upstream', async (t) => {
  const chunks = iterate('chunks=5,fault=stall,faultAfter=1');
  await chunks.next();
  await chunks.next();
  const waiting = chunks.next();
  waiting.catch(() => {});
  await pause(50);
  const startedAt = performance.now();
  await chunks.return?.();
  t.ok(performance.now() - startedAt < 20_000);
  await t.rejects(waiting);
  t.ok((await untilAborted()) < 1000);
});

t.test(
  'aborting the signal closes the connection immediately, whether or not a read is pending',
  async (t) => {
    for (const user of ['chunks=1000,chunkIntervalMs=500', flood]) {
      await upstream.reset();
      const gone = new AbortController();
      const chunks = iterate(user, gone.signal);
      await chunks.next();
      const rest = () => collect({ [Symbol.asyncIterator]: () => chunks });
      const waiting = user === flood ? undefined : rest();
      waiting?.catch(() => {});
      await pause(100);
      gone.abort(new Error('The client disconnected.'));
      t.ok((await untilAborted()) < 1000, user);
      await t.rejects(waiting ?? rest(), { message: 'The client disconnected.' });
    }
  },
);

t.test('an abort discards chunks that have already arrived', async (t) => {
  const gone = new AbortController();
  const chunks = iterate(flood, gone.signal);
  await chunks.next();
  await pause(50);
  await chunks.next();
  gone.abort(new Error('Left.'));
  await t.rejects(chunks.next(), { message: 'Left.' });
});

t.test('an abort before the upstream responds leaves no connection open', async (t) => {
  const gone = new AbortController();
  const chunks = iterate('fault=hang', gone.signal);
  const first = chunks.next();
  await eventually('the upstream receives the request', async () => (await upstream.calls()).chat === 1);
  gone.abort(new Error('Left.'));
  await t.rejects(first, { message: 'Left.' });
  t.ok((await untilAborted()) < 1000);
});

t.test('1,000 concurrent streams of 20 chunks per second complete without delaying each other', async (t) => {
  const engine = chatEngine(upstream.url, { firstByteTimeoutMs: 120_000, idleTimeoutMs: 120_000 });
  const startedAt = performance.now();
  const lengths = await Promise.all(
    Array.from(
      { length: 1000 },
      async () =>
        (
          await collect({
            [Symbol.asyncIterator]: () => iterate('chunks=40,chunkIntervalMs=50', never(), engine),
          })
        ).length,
    ),
  );
  const took = performance.now() - startedAt;
  t.same(new Set(lengths), new Set([43]), 'the role, 40 chunks, the finish reason, and usage');
  // One after another, they would take 2,000 s.
  t.ok(took < 100_000, `${Math.round(took)} ms for 2,000`);
  const { aborted, open } = await upstream.calls();
  t.same({ aborted, open }, { aborted: 0, open: 0 });
});
