import { stat } from 'node:fs/promises';
import { parseOptions } from '@node-rs/argon2';
import t from 'tap';
import { BoundedQueue } from '../../src/concurrency/bounded-queue.ts';
import {
  argon2Parameters,
  hashPassword,
  unknownAccountHash,
  verifyPassword,
} from '../../src/domain/passwords.ts';
import { ApiError } from '../../src/errors.ts';

/** A task that ends when `end` is called. */
function task() {
  let end = () => {};
  const ended = new Promise<void>((resolve) => {
    end = resolve;
  });
  return { end: () => end(), run: () => ended };
}

t.test('a password is hashed with Argon2id, m=19456, t=2, p=1, and a unique salt', async (t) => {
  const [one, other] = await Promise.all([hashPassword('correct horse'), hashPassword('correct horse')]);
  t.match(one, /^\$argon2id\$v=19\$m=19456,t=2,p=1\$/);
  t.not(one, other);
});

t.test('only the right password verifies', async (t) => {
  const stored = await hashPassword('correct horse');
  t.equal(await verifyPassword(stored, 'correct horse'), true);
  t.equal(await verifyPassword(stored, 'correct horsE'), false);
  t.equal(await verifyPassword(stored, ''), false);
});

t.test('a password verifies in composed and decomposed Unicode form', async (t) => {
  t.equal(await verifyPassword(await hashPassword('na\u00efve caf\u00e9'), 'nai\u0308ve cafe\u0301'), true);
});

t.test('verifying an unknown account uses the same Argon2 parameters, and never succeeds', async (t) => {
  const { memoryCost, outputLen, parallelism, timeCost } = parseOptions(await hashPassword('correct horse'));
  t.match(parseOptions(unknownAccountHash), { memoryCost, outputLen, parallelism, timeCost });
  t.equal(memoryCost, argon2Parameters.memoryCost);
  t.equal(await verifyPassword(null, 'correct horse'), false);
});

t.test('hashing a password does not block the event loop', async (t) => {
  const order: string[] = [];
  // Continues from a thread pool callback. The event loop runs immediates before it polls for more callbacks.
  await stat('.');
  setImmediate(() => order.push('event loop'));
  await hashPassword('correct horse');
  order.push('hash');
  t.same(order, ['event loop', 'hash']);
});

t.test('a queue limits concurrent tasks, and runs the others in order', async (t) => {
  const queue = new BoundedQueue(2, 2);
  const tasks = Array.from({ length: 4 }, task);
  const started: number[] = [];
  const all = tasks.map(({ run }, index) =>
    queue.run(() => {
      started.push(index);
      return run();
    }),
  );
  await Promise.resolve();
  t.strictSame(started, [0, 1]);
  tasks[1]?.end();
  await all[1];
  await Promise.resolve();
  t.strictSame(started, [0, 1, 2]);
  for (const { end } of tasks) end();
  await Promise.all(all);
  t.strictSame(started, [0, 1, 2, 3]);
});

t.test('a full queue refuses tasks immediately with overloaded, and accepts tasks again later', async (t) => {
  const queue = new BoundedQueue(1, 1);
  const first = task();
  const running = queue.run(first.run);
  const waiting = queue.run(async () => 'its turn came');
  await t.rejects(
    queue.run(async () => 'never'),
    new ApiError('overloaded'),
  );
  first.end();
  await running;
  t.equal(await waiting, 'its turn came');
  t.equal(await queue.run(async () => 'again'), 'again');
});

t.test('a failed task releases its slot', async (t) => {
  const queue = new BoundedQueue(1, 0);
  await t.rejects(
    queue.run(() => Promise.reject(new Error('broken'))),
    { message: 'broken' },
  );
  t.equal(await queue.run(async () => 'next'), 'next');
});

t.test('one owner can use at most half of a queue, and others can use the rest', async (t) => {
  const queue = new BoundedQueue(2, 4);
  const tasks = Array.from({ length: 6 }, task);
  const mine = tasks.slice(0, 3).map(({ run }) => queue.run(run, 'one'));
  const tooMany = queue.run(async () => 'never', 'one');
  await t.rejects(tooMany, new ApiError('overloaded'));
  const theirs = tasks.slice(3).map(({ run }) => queue.run(run, 'other'));
  await t.rejects(
    queue.run(async () => 'never', 'third'),
    { code: 'overloaded' },
    'the queue is full',
  );
  for (const { end } of tasks) end();
  await Promise.all([...mine, ...theirs]);
  t.equal(await queue.run(async () => 'again', 'one'), 'again');
});
