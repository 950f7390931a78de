/** How a process divides its connections to Postgres. Contract section 13, docs/decisions/0013-connections-to-postgres.md. */

/** Below this an account whose row is locked could hold up others. */
export const FEWEST_CONNECTIONS = 10;

/** One listens to changes of keys, one migrates at start and tidies up later. */
const APART = 2;
/** Admissions and settlements, each in common batches and in queues of single accounts. */
const COMMON_BATCHES = 2;
/** From here on each kind of write has two queues instead of one; more would only wait for each other. */
const TWO_QUEUES_FROM = 16;

export type ConnectionShares = {
  /** For single statements. */
  statements: number;
  transactions: number;
  ledger: number;
  /** Queues of single accounts, of each kind of write to the ledger. */
  queues: number;
};

/** @param total - most connections of the process; below `FEWEST_CONNECTIONS`, for commands and tests, each share is the least */
export function shareConnections(total: number): ConnectionShares {
  const queues = total < TWO_QUEUES_FROM ? 1 : 2;
  const ledger = COMMON_BATCHES + 2 * queues;
  const left = total - APART - ledger;
  const transactions = Math.max(total < FEWEST_CONNECTIONS ? 1 : 2, Math.floor(left / 3));
  return { queues, ledger, transactions, statements: Math.max(1, left - transactions) };
}
