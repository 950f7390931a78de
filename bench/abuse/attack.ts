/** Each attack is a file in `attacks/`. `make abuse` runs its default export against a new service. */

/** The service, and the attacker's API keys, which belong to a few accounts. */
export type Target = { origin: string; port: number; keys: string[] };

export type Attack = {
  /** What the clients do, for the results table. */
  title: string;
  /**
   * Attacks until the signal aborts. It may end earlier, and must leave no connections open.
   *
   * @param count - receives the outcome of each request: a status, or how it failed
   */
  run(target: Target, count: (outcome: string) => void, signal: AbortSignal): Promise<void>;
};

/** The message to the attacker's process, and its reply. */
export type Order = { file: string; target: Target; seconds: number };
export type Report = { title: string; outcomes: Record<string, number> };
