// Batches that the database rejects. Contract section 5.
import t from 'tap';
import { AccountQueues } from '../../src/ledger/account-queues.ts';

const rejected = Object.assign(new Error('invalid'), { code: '22P02' });
const away = Object.assign(new Error('away'), { code: 'ECONNREFUSED' });
const items = ['a', 'b', 'c', 'd'].map((name) => ({ account_id: '1', name }));

/** Submits all items at once. Batches of several items are rejected. `writeOne` handles single items. */
async function submitAll(writeOne: (name: string) => string) {
  const sent: string[] = [];
  const queues = new AccountQueues<(typeof items)[number], string>(async (batch) => {
    const [first] = batch as [(typeof items)[number]];
    sent.push(batch.map(({ name }) => name).join(''));
    if (batch.length > 1) throw rejected;
    return [writeOne(first.name)];
  }, 1);
  const results = await Promise.allSettled(items.map((item) => queues.submit(item)));
  return {
    sent,
    results: results.map((one) => (one.status === 'fulfilled' ? one.value : one.reason.code)),
  };
}

t.test('if a batch is rejected, only the invalid item fails', async (t) => {
  const { results, sent } = await submitAll((name) => {
    if (name === 'b') throw rejected;
    return name.toUpperCase();
  });
  t.same(results, ['A', '22P02', 'C', 'D']);
  t.same(sent, ['abcd', 'abcd', 'a', 'b', 'c', 'd']);
});

t.test(
  'if the database goes down during retries of single items, the remaining items fail without a retry',
  async (t) => {
    const { results, sent } = await submitAll((name) => {
      if (name === 'b') throw away;
      return name.toUpperCase();
    });
    t.same(results, ['A', 'ECONNREFUSED', 'ECONNREFUSED', 'ECONNREFUSED']);
    t.same(sent, ['abcd', 'abcd', 'a', 'b']);
  },
);
