/**
 * Transactions that survive load and the loss of their connection. Reliability test 32.
 *
 * Where the connection is lost, the driver sends ROLLBACK, or the next statement, on it all the same, and the process ends of
 * an error that nobody can catch. And a BEGIN that waited on a connection when it was lost can be sent on the next one
 * without its transaction: on connections of their own, the next transaction ends it, and no other statement is caught up.
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
