import { EventEmitter, once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { PassThrough } from 'node:stream';
import t from 'tap';
import { BodyBudget } from '../../src/bodies/budget.ts';
import { Pace } from '../../src/bodies/pace.ts';
import { BodyReader } from '../../src/bodies/reader.ts';

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

t.test('bodies that together exceed the time slice are paused until the next slice', async (t) => {
  const pace = new Pace(2 * MIB);
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

t.test('bytes read beyond a slice count against the following slices', async (t) => {
  const pace = new Pace(2 * MIB);
  const body = new Body();
  const startedAt = performance.now();
  pace.count(body, 9 * MIB);
  await once(body, 'resumed');
  t.ok(performance.now() - startedAt >= 35, 'four slices of 10 ms');
});

t.test('waiting bodies are resumed a few at a time, in order', async (t) => {
  const pace = new Pace(MIB / 2);
  const bodies = Array.from({ length: 40 }, () => new Body());
  const resumed: Body[] = [];
  for (const body of bodies) {
    body.once('resumed', () => resumed.push(body));
    pace.count(body, MIB / 16);
  }
  const waiting = bodies.filter(({ isPaused }) => isPaused);
  await Promise.race(waiting.map((body) => once(body, 'resumed')));
  t.ok(resumed.length <= 8, `${resumed.length} of ${waiting.length} at first`);
  while (resumed.length < waiting.length) await Promise.race(waiting.map((body) => once(body, 'resumed')));
  t.strictSame(resumed, waiting);
});

t.test('a forgotten body is not resumed', async (t) => {
  const pace = new Pace(2 * MIB);
  const [ended, other] = [new Body(), new Body()];
  pace.count(ended, 3 * MIB);
  pace.count(other, 1);
  pace.forget(ended);
  await once(other, 'resumed');
  t.ok(ended.isPaused);
});

t.test('a body of 6 MiB is paused and still arrives complete; a body of 1 MiB is not paused', async (t) => {
  const reader = new BodyReader(new BodyBudget(64 * MIB));
  const read = async (pieces: number) => {
    let pauses = 0;
    const stream = Object.assign(new PassThrough(), { headers: {} });
    const { pause } = stream;
    stream.pause = () => {
      pauses += 1;
      return pause.call(stream);
    };
    const received = reader.read(stream as unknown as IncomingMessage, { limit: 20 * MIB, sender: 'a' });
    for (let piece = 0; piece < pieces; piece += 1) stream.write(Buffer.alloc(MIB / 4));
    stream.end();
    const { body, release } = await received;
    release();
    return { length: body.length, isPaused: pauses > 0 };
  };
  t.same(await read(24), { length: 6 * MIB, isPaused: true });
  t.same(await read(4), { length: MIB, isPaused: false });
  reader.close();
});
