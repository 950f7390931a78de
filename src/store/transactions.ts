/**
 * Transactions that survive load and the loss of their connection. Reliability test 32.
 *
 * The driver loses track of a BEGIN that it sends behind another statement: it fails, and leaves the connection in a
 * transaction that nobody ends. On connections of their own transactions never follow anything. And where a connection is
 * lost, it sends ROLLBACK, or the next statement, on it all the same, and the process ends of an error nobody can catch.
 */
import type { Sql, TransactionSql } from 'postgres';

type Work = (tx: TransactionSql) => Promise<unknown>;

/**
 * The same client with another `begin`.
 *
 * @param transactions - a client for nothing else
 * @param isLost - whether a statement failed because its connection ended
 */
export function survivingTransactions(
  client: Sql,
  transactions: Sql,
  isLost: (error: unknown) => boolean,
): Sql {
  async function begin(work: Work): Promise<unknown> {
    let isOver = false;
    const guarded = (tx: TransactionSql): TransactionSql =>
      new Proxy(tx, {
        get(target, name) {
          if (isOver) throw new Error('The transaction is over: its connection was lost.');
          return Reflect.get(target, name);
        },
      });
    // Where the connection is lost the driver rejects by itself, and must not learn that the work has failed too.
    const never = new Promise(() => {});
    try {
      return await transactions.begin((tx) =>
        work(guarded(tx)).catch((error) => {
          if (isOver || isLost(error)) return never;
          throw error;
        }),
      );
    } finally {
      isOver = true;
    }
  }
  return new Proxy(client, {
    get: (target, name) => (name === 'begin' ? begin : Reflect.get(target, name)),
  });
}
