/** Divides a process's connections. Contract section 13, docs/decisions/0013-connections-to-postgres.md. */

/** With fewer connections, an account whose row is locked could block other accounts. */
export const MIN_CONNECTIONS = 10;

/** One connection listens for key changes. Another migrates at startup and runs maintenance later. */
const APART = 2;
/** One connection for admissions and one for settlements. */
const COMMON_BATCHES = 2;
/** From this total on, each kind of write has two queues. More would only wait for each other. */
const TWO_QUEUES_FROM = 16;

export type ConnectionShares = {
  statements: number;
  transactions: number;
  ledger: number;
  queues: number;
};

/** Divides `total`. Below `MIN_CONNECTIONS`, for commands and tests, every share is minimal. */
export function shareConnections(total: number): ConnectionShares {
  const queues = total < TWO_QUEUES_FROM ? 1 : 2;
  const ledger = COMMON_BATCHES + 2 * queues;
  const left = total - APART - ledger;
  const transactions = Math.max(total < MIN_CONNECTIONS ? 1 : 2, Math.floor(left / 3));
  return { queues, ledger, transactions, statements: Math.max(1, left - transactions) };
}
