import t from 'tap';
import { Calls } from '../../src/limits/calls.ts';

t.test('calls and streams are limited per account, and each slot is released only once', async (t) => {
  const calls = new Calls({ calls: 3, streams: 2 });
  const [first] = [await calls.take('a', true), await calls.take('a', true), await calls.take('b', true)];
  await t.rejects(calls.take('a', true), { code: 'tooManyStreams', statusCode: 429 });
  await calls.take('a', false);
  await t.rejects(calls.take('a', false), { code: 'tooManyCalls', statusCode: 429 });
  await t.rejects(calls.take('a', true), { code: 'tooManyStreams' });
  first?.release();
  first?.release();
  t.equal(calls.taken, 3);
  await calls.take('a', true);
  await t.rejects(calls.take('a', false), { code: 'tooManyCalls' });
});

t.test('if the limit across all processes is reached, the local slot is released', async (t) => {
  const released: string[] = [];
  let full: 'calls' | undefined = 'calls';
  const calls = new Calls(
    { calls: 3, streams: 2 },
    { take: async () => full, release: (accountId) => released.push(accountId) },
  );
  await t.rejects(calls.take('a', false), { code: 'tooManyCalls' });
  t.equal(calls.taken, 0);
  t.same(released, []);
  full = undefined;
  (await calls.take('a', false)).release();
  t.same(released, ['a']);
});
