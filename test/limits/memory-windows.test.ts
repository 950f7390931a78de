import { setTimeout as sleep } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import t from 'tap';
import { MemoryWindows } from '../../src/limits/memory-windows.ts';

setFlagsFromString('--expose-gc');
const collectGarbage: () => void = runInNewContext('gc');
/** The heap in use, in MiB. */
function heldMiB(): number {
  collectGarbage();
  return process.memoryUsage().heapUsed / 2 ** 20;
}

t.test('a window counts from its first request and starts again when it ends', async (t) => {
  const windows = new MemoryWindows();
  t.match(await windows.take('plan:a', 2000), { current: 1 });
  const { current, ttl } = await windows.take('plan:a', 2000);
  t.equal(current, 2);
  t.ok(ttl > 0 && ttl <= 2000);
  t.match(await windows.take('plan:b', 200), { current: 1 }, 'keys are independent');
  await sleep(2010);
  t.same(await windows.read('plan:a'), { current: 0, ttl: 0 });
  t.match(await windows.take('plan:a', 2000), { current: 1 });
});

t.test('reading does not count, and taking back subtracts one but never goes below zero', async (t) => {
  const windows = new MemoryWindows();
  await windows.takeBack('sign-in:a');
  await windows.take('sign-in:a', 60_000);
  t.match(await windows.read('sign-in:a'), { current: 1 });
  t.match(await windows.read('sign-in:a'), { current: 1 });
  await windows.takeBack('sign-in:a');
  await windows.takeBack('sign-in:a');
  t.match(await windows.take('sign-in:a', 60_000), { current: 1 });
});

t.test('memory stays bounded during a flood of addresses, and accounts are not evicted', async (t) => {
  const windows = new MemoryWindows();
  await windows.take('plan:a', 60_000);
  const before = heldMiB();
  for (let n = 0; n < 400_000; n += 1) await windows.take(`unknown-key:2001:db8:${n}::/64`, 60_000);
  t.match(await windows.take('plan:a', 60_000), { current: 2 });
  t.match(await windows.read('unknown-key:2001:db8:0::/64'), { current: 0 }, 'the oldest address is evicted');
  t.match(await windows.read('unknown-key:2001:db8:399999::/64'), { current: 1 });
  const grown = heldMiB() - before;
  t.ok(grown < 40, `${Math.round(grown)} MiB`);
  t.match(await windows.read('plan:a'), { current: 2 }, 'the windows are still in memory');
});
