/** An account, called for by a key (`keyId` set) or by the dashboard session (`keyId` null). */
export type Caller = {
  accountId: string;
  keyId: string | null;
  /** The plan at lookup time, for the per-minute limits. Charges read the plan themselves. */
  plan: string;
};

declare module 'fastify' {
  interface FastifyRequest {
    /** Set by the scope's guard. Reading it on a public route throws. */
    caller: Caller;
  }
}
