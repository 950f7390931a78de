// Requests from workers to their primary. Messages on the channels are serialized as between processes.
import t from 'tap';
import { workerBytes } from '../../src/bodies/budget.ts';
import { Calls } from '../../src/limits/calls.ts';
import { Channel } from '../../src/workers/channel.ts';
import type { PrimaryMethods, WorkerMethods } from '../../src/workers/methods.ts';
import { SharedBudget } from '../../src/workers/shared-budget.ts';
import { SharedSlots, SharedWindows, WorkerCalls } from '../../src/workers/shared-limits.ts';
import { SharedState } from '../../src/workers/shared-state.ts';

const MIB = 1024 * 1024;
const KIB = 1024;

/** A worker's end of a channel to the state. `die` does what the primary does after the worker has exited. */
function join(state: SharedState) {
  const { end, methods } = state.ofWorker();
  const channels: { ofPrimary?: Channel<WorkerMethods> } = {};
  let messages = 0;
  const primary = new Channel<PrimaryMethods>((sent) => {
    messages += 1;
    channels.ofPrimary?.receive(JSON.parse(JSON.stringify(sent)));
  }, {});
  channels.ofPrimary = new Channel((sent) => primary.receive(JSON.parse(JSON.stringify(sent))), methods);
  const die = () => {
    primary.close();
    end();
  };
  return { primary, die, sent: () => messages };
}

const outcomes = async (tasks: Promise<unknown>[]) => {
  const settled = await Promise.allSettled(tasks);
  return settled.filter(({ status }) => status === 'fulfilled').length;
};

t.test(
  'windows count the requests of all workers in few messages, and a disconnected worker counts locally',
  async (t) => {
    const state = new SharedState(64 * MIB);
    const [one, other] = [join(state), join(state)];
    const windows = [one, other].map(({ primary }) => new SharedWindows(primary));
    const counts = await Promise.all(
      Array.from({ length: 100 }, (_, n) => (windows[n % 2] as SharedWindows).take('plan:a', 60_000)),
    );
    t.same(
      counts.map(({ current }) => current).sort((a, b) => a - b),
      Array.from({ length: 100 }, (_, n) => n + 1),
    );
    t.equal(one.sent(), 1, 'requests in one turn of the event loop are sent together');
    await windows[1]?.takeBack('plan:a');
    t.equal((await windows[0]?.read('plan:a'))?.current, 99);
    one.die();
    t.equal((await windows[0]?.take('plan:a', 60_000))?.current, 1);
    t.equal((await windows[1]?.read('plan:a'))?.current, 99);
  },
);

t.test('calls and streams are counted across workers, without those of a dead worker', async (t) => {
  const state = new SharedState(64 * MIB);
  const workers = [join(state), join(state)];
  const calls = workers.map(({ primary }) => new Calls({ calls: 10, streams: 4 }, new WorkerCalls(primary)));
  const of = (n: number) => calls[n % 2] as Calls;
  t.equal(await outcomes(Array.from({ length: 12 }, (_, n) => of(n).take('a', true))), 4);
  t.equal(await outcomes(Array.from({ length: 12 }, (_, n) => of(n).take('a', false))), 6);
  const [first, second] = workers;
  const dead = of(0).taken;
  first?.die();
  t.ok(dead > 0);
  t.equal(await outcomes(Array.from({ length: 12 }, () => of(1).take('a', false))), dead);
  t.ok(second);
});

t.test('the number of slots is limited across workers', async (t) => {
  const state = new SharedState(64 * MIB);
  const [one, other] = [join(state), join(state)];
  const slots = [one, other].map(({ primary }) => new SharedSlots(primary)) as [SharedSlots, SharedSlots];
  const queue = { name: 'hash', slots: 2, waiting: 1 };
  const release = await slots[0].take(queue);
  await slots[1].take(queue);
  const waits = slots[1].take(queue);
  await t.rejects(slots[0].take(queue), { code: 'overloaded' });
  release();
  await waits;

  const controller = new AbortController();
  const gone = slots[0].take(queue, null, controller.signal);
  controller.abort(new Error('gone'));
  await t.rejects(gone, { message: 'gone' });
  const next = slots[0].take(queue);
  other.die();
  (await next)();
  one.die();
  (await slots[0].take(queue))();
});

t.test(
  'workers share one memory budget for bodies, and small bodies need no message to the primary',
  async (t) => {
    const bytes = 24 * MIB;
    const state = new SharedState(bytes);
    const workers = [join(state), join(state)];
    const budgets = workers.map(({ primary }) => new SharedBudget(primary, workerBytes(bytes) / 2));
    const of = (n: number) => budgets[n] as SharedBudget;

    const small = of(0).share('a');
    t.equal(small.take(40 * KIB), true);
    t.equal(workers[0]?.sent(), 0);
    small.release();

    const large = of(0).share('a');
    t.equal(await large.fits(20 * MIB), true);
    t.equal(large.take(64 * KIB), true);
    t.equal(await large.take(18 * MIB), true);
    t.equal(
      await of(1)
        .share('b')
        .fits(8 * MIB),
      false,
      'the other worker has no separate budget',
    );
    t.equal(
      await of(1)
        .share('b')
        .fits(2 * MIB),
      true,
    );
    t.equal(
      of(1)
        .share('b')
        .take(64 * KIB),
      true,
      'the beginning of a body fits',
    );
    const second = of(1).share('a');
    t.equal(
      await second.take(1 * MIB),
      false,
      'the account has used its quarter of the budget across all workers',
    );

    large.release();
    t.equal(
      await of(1)
        .share('b')
        .fits(20 * MIB),
      true,
    );
    const held = of(1).share('b');
    t.equal(await held.take(20 * MIB), true);
    workers[1]?.die();
    t.equal(
      await of(0)
        .share('a')
        .fits(20 * MIB),
      true,
      'the memory of a dead worker is released',
    );
  },
);
