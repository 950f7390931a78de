import t from 'tap';
import type { CompletionChunk } from '../../../src/engines/types.ts';
import { startUpstream } from '../../support/upstream/client.ts';
import { asking, chatEngine, eventually, failure, never, textOf } from '../../support/upstream/engine.ts';

const upstream = await startUpstream();
t.teardown(() => upstream.stop());
t.beforeEach(() => upstream.reset());
const chat = chatEngine(upstream.url);

/** Reads a stream until it fails. */
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

t.test('a broken stream delivers the chunks that arrived, then upstreamError', async (t) => {
  for (const fault of ['truncate', 'cut', 'error-event', 'bad-event'] as const) {
    await upstream.configure({ fault, faultAfter: 3, chunkIntervalMs: 10 });
    const { chunks, code } = await broken();
    t.equal(code, 'upstreamError', fault);
    t.equal(textOf(chunks), 'You said: one', fault);
    t.notOk(
      chunks.some(({ usage }) => usage),
      'no chunk has usage',
    );
  }
});

t.test(
  'a stream with an unfinished choice or without choices is upstreamError, and one with too few choices is invalidRequest',
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
      // An engine remembers too few choices, so each case has a new engine.
      t.equal((await broken({ n }, chatEngine(upstream.url))).code, code, events.join(' '));
    }
  },
);

t.test('an invalid event closes the upstream connection', async () => {
  await upstream.configure({ fault: 'bad-event' });
  await broken();
  await eventually(
    'the upstream request is aborted',
    async () => (await upstream.calls()).aborted === 1,
    500,
  );
});

t.test('an error as the first event is upstreamError before any chunk', async (t) => {
  await upstream.configure({ fault: 'error-body' });
  t.same(await broken(), { chunks: [], code: 'upstreamError' });
});

t.test('silence between chunks is upstreamTimeout, and closes the connection', async (t) => {
  await upstream.configure({ fault: 'stall', faultAfter: 2 });
  const { chunks, code } = await broken({}, chatEngine(upstream.url, { idleTimeoutMs: 150 }));
  t.equal(code, 'upstreamTimeout');
  t.equal(textOf(chunks), 'You said:');
  await eventually('the upstream request is aborted', async () => (await upstream.calls()).aborted === 1);
});

t.test('an endless event is upstreamError within bounded memory', async (t) => {
  await upstream.configure({ fault: 'giant' });
  t.equal((await broken()).code, 'upstreamError');
  await eventually('the upstream request is aborted', async () => (await upstream.calls()).aborted === 1);
  t.ok((await upstream.calls()).bytes < 64 * 1024 * 1024);
});
