import { setImmediate as nextTurn } from 'node:timers/promises';
import t from 'tap';
import { LoopShare } from '../../src/concurrency/loop-share.ts';

t.test('work beyond the share waits for later turns of the event loop and resumes in order', async (t) => {
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
});

t.test('a caller that keeps taking shares cannot overtake a waiting one', async (t) => {
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
  t.ok(greedy <= 1, `${greedy} calls overtook the waiting caller`);
});

t.test('work within the share never waits', async (t) => {
  const share = new LoopShare();
  for (let index = 0; index < 8; index += 1) t.equal(share.take(1000), undefined);
  t.type(share.take(1000), Promise);
});
