/** An API key (`keyId` set) or a dashboard session (`keyId` null) that acts for an account. */
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
