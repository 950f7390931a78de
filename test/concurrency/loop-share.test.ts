import { setImmediate as nextTurn } from 'node:timers/promises';
import t from 'tap';
import { LoopShare } from '../../src/concurrency/loop-share.ts';

t.test(
  'work beyond the share waits for the next turns of the event loop, and goes on in order',
  async (t) => {
    const share = new LoopShare();
    const done: number[] = [];
    const all = Array.from({ length: 40 }, async (_, index) => {
      await share.take(2000);
      done.push(index);
    });
    const counts: number[] = [];
    while (done.length < 40) {
      await nextTurn();
      counts.push(done.length);
    }
    await Promise.all(all);
    t.same(
      done,
      [...done].sort((one, other) => one - other),
    );
    const most = Math.max(...counts.map((count, turn) => count - (counts[turn - 1] ?? 4)));
    t.ok(most <= 8, `${most} in one turn`);
  },
);

t.test('one that asks again and again cannot overtake those that wait', async (t) => {
  const share = new LoopShare();
  share.take(8000);
  let isResumed = false;
  const waiting = share.take(1000)?.then(() => {
    isResumed = true;
  });
  let greedy = 0;
  while (!isResumed) {
    await share.take(8000);
    greedy += 1;
  }
  await waiting;
  t.ok(greedy <= 1, `${greedy} overtook it`);
});

t.test('little work never waits', async (t) => {
  const share = new LoopShare();
  for (let index = 0; index < 8; index += 1) t.equal(share.take(1000), undefined);
  t.type(share.take(1000), Promise);
});
