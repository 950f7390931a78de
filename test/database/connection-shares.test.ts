import t from 'tap';
import { MIN_CONNECTIONS, shareConnections } from '../../src/database/connection-shares.ts';

/** One connection listens, and one runs migrations and maintenance. */
const APART = 2;

t.test(
  'the shares and the two dedicated connections add up to the total, and every share has enough connections',
  async (t) => {
    for (let total = MIN_CONNECTIONS; total <= 200; total += 1) {
      const { queues, ledger, statements, transactions } = shareConnections(total);
      t.equal(statements + transactions + ledger + APART, total);
      t.ok(statements >= 2 && transactions >= 2, String(total));
      t.ok(ledger >= 2 + 2 * queues, 'slow accounts leave room for common batches');
    }
    t.same(shareConnections(20), { queues: 2, ledger: 6, transactions: 4, statements: 8 });
  },
);
