import { setImmediate as nextTurn } from 'node:timers/promises';
import t from 'tap';
import { LoopShare } from '../../src/requests/loop-share.ts';

t.test(
  'many streams share a turn of the event loop, and the rest go on in the next turns, in order',
  async (t) => {
    const share = new LoopShare();
    const order: number[] = [];
    const streams = Array.from({ length: 120 }, async (_, stream) => {
      await share.take();
      order.push(stream);
    });
    const counts: number[] = [];
    for (let turn = 0; turn < 3; turn += 1) {
      await nextTurn();
      counts.push(order.length);
    }
    await Promise.all(streams);
    t.ok((counts[0] ?? 120) <= 100, `${counts[0]} in the first turns`);
    t.equal(counts.at(-1), 120);
    t.same(
      order,
      Array.from({ length: 120 }, (_, stream) => stream),
    );
  },
);

t.test('a single stream waits once per share, and not at all after a pause', async (t) => {
  const share = new LoopShare();
  let waits = 0;
  for (let event = 0; event < 500; event += 1) {
    const turn = share.take();
    if (turn !== undefined) waits += 1;
    await turn;
  }
  t.ok(waits > 0 && waits <= 10, `${waits} waits`);
  await nextTurn();
  await nextTurn();
  t.equal(share.take(), undefined);
});
