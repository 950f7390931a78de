import { setImmediate as nextTurn } from 'node:timers/promises';
import t from 'tap';
import { Semaphore } from '../../src/concurrency/semaphore.ts';

t.test('slots are granted in order, and an aborted waiter is skipped', async (t) => {
  const slots = new Semaphore(1, 3);
  const release = await slots.take();
  const begun: string[] = [];
  const enter = async (name: string, signal?: AbortSignal) => {
    const done = await slots.take(signal);
    begun.push(name);
    return done;
  };
  const leaving = new AbortController();
  const [first, gone, second] = [enter('first'), enter('gone', leaving.signal), enter('second')];
  t.ok(slots.isFull);
  leaving.abort(new Error('left'));
  await t.rejects(gone, { message: 'left' });
  t.notOk(slots.isFull);
  release();
  (await first)();
  (await second)();
  t.same(begun, ['first', 'second']);
  t.equal(await slots.run(async () => 'free again'), 'free again');
});

t.test('a failed task releases its slot, and an aborted signal takes none', async (t) => {
  const slots = new Semaphore(1);
  await t.rejects(
    slots.run(async () => {
      throw new Error('no');
    }),
  );
  await t.rejects(slots.take(AbortSignal.abort(new Error('over'))), { message: 'over' });
  const order: number[] = [];
  await Promise.all(
    [1, 2, 3].map((n) =>
      slots.run(async () => {
        order.push(n);
        await nextTurn();
        order.push(-n);
      }),
    ),
  );
  t.same(order, [1, -1, 2, -2, 3, -3], 'one at a time');
});

t.test('tryTake returns a free slot immediately, and nothing if the semaphore is full', async (t) => {
  const slots = new Semaphore(1);
  const release = slots.tryTake();
  t.equal(slots.tryTake(), undefined);
  const next = slots.take();
  release?.();
  (await next)();
  t.type(slots.tryTake(), 'function');
});
