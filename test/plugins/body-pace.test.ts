import { EventEmitter, once } from 'node:events';
import t from 'tap';
import { Pace } from '../../src/bodies/pace.ts';

const MIB = 2 ** 20;

class Body extends EventEmitter {
  isPaused = false;
  pause() {
    this.isPaused = true;
  }
  resume() {
    this.isPaused = false;
    this.emit('resumed');
  }
}

t.test('bodies that together deliver more than a slice wait for the next one', async (t) => {
  const pace = new Pace();
  const [one, other] = [new Body(), new Body()];
  pace.count(one, MIB);
  t.notOk(one.isPaused, 'half a slice');
  pace.count(other, MIB);
  t.ok(other.isPaused, 'the slice is used up');
  pace.count(one, 1);
  t.ok(one.isPaused);
  await Promise.all([once(one, 'resumed'), once(other, 'resumed')]);
  pace.count(one, MIB);
  t.notOk(one.isPaused, 'a new slice');
});

t.test('what was read beyond a slice counts against the next ones', async (t) => {
  const pace = new Pace();
  const body = new Body();
  const startedAt = performance.now();
  pace.count(body, 9 * MIB);
  await once(body, 'resumed');
  t.ok(performance.now() - startedAt >= 35, 'four slices of 10 ms');
});

t.test('a body that is no longer read is not resumed', async (t) => {
  const pace = new Pace();
  const [ended, other] = [new Body(), new Body()];
  pace.count(ended, 3 * MIB);
  pace.count(other, 1);
  pace.forget(ended);
  await once(other, 'resumed');
  t.ok(ended.isPaused);
});
