// The copy of a stream stored for an idempotency key. Contract section 10.
import t from 'tap';
import type { CompletionChunk } from '../../src/engines/types.ts';
import { mergedChunks } from '../../src/requests/merged-chunks.ts';

const chunkOf = (tool_calls: object[]) =>
  ({
    id: 'a',
    object: 'chat.completion.chunk',
    created: 1,
    model: 'm',
    choices: [{ index: 0, delta: { tool_calls }, finish_reason: null }],
  }) as unknown as CompletionChunk;
const call = (index: number, text: string) => ({ index, function: { arguments: text } });
const callsOf = ({ choices }: CompletionChunk) =>
  (choices[0]?.delta as { tool_calls?: object[] } | undefined)?.tool_calls ?? [];

t.test('tool call fragments are merged by index', async (t) => {
  let all = chunkOf([call(0, '{'), call(1, '[')]);
  for (const calls of [[call(1, '1')], [call(2, 'x'), call(0, '}')], [call(1, ']'), call(2, 'y')]])
    all = mergedChunks(all, chunkOf(calls));
  t.same(callsOf(all), [call(0, '{}'), call(1, '[1]'), call(2, 'xy')]);
});

t.test('merging 200,000 tool calls takes linear time', async (t) => {
  const started = process.cpuUsage();
  const all = mergedChunks(
    chunkOf([]),
    chunkOf(Array.from({ length: 200_000 }, (_, index) => call(index, ''))),
  );
  mergedChunks(all, chunkOf([call(199_999, 'x')]));
  const { user } = process.cpuUsage(started);
  t.equal(callsOf(all).length, 200_000);
  t.ok(user < 5_000_000, `${user / 1000} ms; a linear search per call would take minutes`);
});
