import t from 'tap';
import type { CompletionChunk } from '../../../src/engines/types.ts';
import { startUpstream } from '../../support/upstream/client.ts';
import { asking, chatEngine, eventually, failure, never, textOf } from '../../support/upstream/engine.ts';

const upstream = await startUpstream();
t.teardown(() => upstream.stop());
t.beforeEach(() => upstream.reset());
const chat = chatEngine(upstream.url);

/** Reads until it fails. */
async function broken(fields = {}, engine = chat): Promise<{ chunks: CompletionChunk[]; code: string }> {
  const chunks: CompletionChunk[] = [];
  const error = await failure(
    (async () => {
      for await (const chunk of engine.stream(asking('one two three four five', fields), never()))
        chunks.push(chunk);
    })(),
  );
  return { chunks, code: error.code };
}

t.test('a stream that breaks is upstreamError after what came', async (t) => {
  for (const fault of ['truncate', 'cut', 'error-event', 'bad-event'] as const) {
    await upstream.configure({ fault, faultAfter: 3, chunkIntervalMs: 10 });
    const { chunks, code } = await broken();
    t.equal(code, 'upstreamError', fault);
    t.equal(textOf(chunks), 'You said: one', fault);
    t.notOk(
      chunks.some(({ usage }) => usage),
      'without usage',
    );
  }
});

t.test(
  'a stream that ends with one of its choices unfinished, or without any, is upstreamError; too few are invalidRequest',
  async (t) => {
    const event = (index: number, finish: string | null) =>
      JSON.stringify({ choices: [{ index, delta: { content: 'x' }, finish_reason: finish }] });
    const streams: [string[], number, string?][] = [
      [[event(0, 'stop'), event(1, null)], 2],
      [[event(0, 'stop')], 2],
      [[event(0, 'stop'), '[DONE]'], 2, 'invalidRequest'],
      [[], 1],
      [['[DONE]'], 1],
      [['{"choices":[]}', '[DONE]'], 1],
      [['{"choices":[{"index":4000000000}]}', '[DONE]'], 1],
      [['"text"'], 1],
      [['{"choices":["text"]}'], 1],
    ];
    for (const [events, n, code = 'upstreamError'] of streams) {
      await upstream.configure({ events });
      // Another engine each time: this one remembers.
      t.equal((await broken({ n }, chatEngine(upstream.url))).code, code, events.join(' '));
    }
  },
);

t.test('a stream that is given up for what it says is not left open', async () => {
  await upstream.configure({ fault: 'bad-event' });
  await broken();
  await eventually('aborted', async () => (await upstream.calls()).aborted === 1, 500);
});

t.test('an error as the first event: upstreamError before any chunk', async (t) => {
  await upstream.configure({ fault: 'error-body' });
  t.same(await broken(), { chunks: [], code: 'upstreamError' });
});

t.test('silence between chunks: upstreamTimeout, and the connection is given up', async (t) => {
  await upstream.configure({ fault: 'stall', faultAfter: 2 });
  const { chunks, code } = await broken({}, chatEngine(upstream.url, { idleTimeoutMs: 150 }));
  t.equal(code, 'upstreamTimeout');
  t.equal(textOf(chunks), 'You said:');
  await eventually('aborted', async () => (await upstream.calls()).aborted === 1);
});

t.test('an event that does not end: upstreamError, in bounded memory', async (t) => {
  await upstream.configure({ fault: 'giant' });
  t.equal((await broken()).code, 'upstreamError');
  await eventually('aborted', async () => (await upstream.calls()).aborted === 1);
  t.ok((await upstream.calls()).bytes < 64 * 1024 * 1024);
});
