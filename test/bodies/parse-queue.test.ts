// The smallest waiting body is parsed next, and none waits forever. Contract section 6.
import t from 'tap';
import { Blocks } from '../../src/bodies/blocks.ts';
import { ParseQueue, QueueFullError } from '../../src/bodies/parse-queue.ts';
import { BodyParser, BusyError } from '../../src/bodies/parser.ts';

const settled = () => new Promise((resolve) => setImmediate(resolve));

/** A queue whose tasks end only when the test calls `next`. */
function startQueue() {
  const queue = new ParseQueue(5);
  const order: string[] = [];
  const ends: (() => void)[] = [];
  const begin = (name: string, bytes: number) =>
    queue.run(bytes, () => {
      order.push(name);
      return new Promise<void>((resolve) => ends.push(resolve));
    });
  const next = async () => {
    ends.shift()?.();
    await settled();
  };
  return { begin, next, order, queue };
}

t.test('the smallest body runs first, and bodies of equal size run in order of arrival', async (t) => {
  const { begin, next, order } = startQueue();
  const all = [
    begin('first', 99),
    begin('large', 90),
    begin('small', 1),
    begin('medium', 9),
    begin('late', 1),
  ];
  for (let n = 0; n < all.length; n += 1) await next();
  await Promise.all(all);
  t.same(order, ['first', 'small', 'late', 'medium', 'large']);
});

t.test('the size of a waiting body is halved each time another body overtakes it', async (t) => {
  const { begin, next, order } = startQueue();
  const all = [begin('first', 1), begin('large', 8)];
  for (let n = 1; n <= 5; n += 1) {
    all.push(begin(`small ${n}`, 2));
    await next();
  }
  for (let n = 0; n < 3; n += 1) await next();
  await Promise.all(all);
  t.same(order, ['first', 'small 1', 'small 2', 'large', 'small 3', 'small 4', 'small 5']);
});

t.test('a body is refused when too many are waiting, and a failure ends only its own turn', async (t) => {
  const { begin, next, queue } = startQueue();
  const first = begin('first', 1);
  const all = [1, 2, 3, 4, 5].map((bytes) => begin(`waiting ${bytes}`, bytes));
  await t.rejects(begin('one more', 1), QueueFullError);
  await next();
  await first;
  const failing = t.rejects(
    queue.run(0, () => Promise.reject(new Error('broken'))),
    /broken/,
  );
  for (let n = 0; n < 6; n += 1) await next();
  await Promise.all([failing, ...all]);
  t.equal(await queue.run(1, async () => 'goes on'), 'goes on');
});

function bodyOf(length: number): Blocks {
  const body = new Blocks();
  body.add(Buffer.from(`{"x":"${'x'.repeat(length)}"}`));
  return body;
}

t.test('a small body does not wait behind queued large bodies', async (t) => {
  const parser = new BodyParser();
  t.teardown(() => parser.close());
  const order: number[] = [];
  const parse = async (mebibytes: number) => {
    await parser.parse(bodyOf(mebibytes * 2 ** 20), false, false);
    order.push(mebibytes);
  };
  await Promise.all([...Array.from({ length: 4 }, () => parse(10)), parse(2)]);
  t.same(order, [10, 2, 10, 10, 10]);
});

t.test('bodies that are waiting when the parser closes are refused', async (t) => {
  const parser = new BodyParser();
  const bodies = [1, 2, 3].map((n) => parser.parse(bodyOf(n * 5e6), false, false));
  const refused = Promise.all(bodies.map((body) => t.rejects(body, BusyError)));
  await parser.close();
  await refused;
});
