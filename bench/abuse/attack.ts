/** What an attack is: one file in `attacks/` each, whose default export `make abuse` runs against a service of its own. */

/** The service, and what an attacker has got hold of: keys of a few accounts. */
export type Target = { origin: string; port: number; keys: string[] };

export type Attack = {
  /** What the clients do, for the table. */
  title: string;
  /**
   * Attacks until the signal. It may end earlier, and must leave nothing open.
   *
   * @param count - is told what became of each request: a status, or how it broke off
   */
  run(target: Target, count: (outcome: string) => void, signal: AbortSignal): Promise<void>;
};

/** What the attacker's process is told, and what it answers. */
export type Order = { file: string; target: Target; seconds: number };
export type Report = { title: string; outcomes: Record<string, number> };
