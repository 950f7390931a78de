/** Who is calling, as the guards found out. */

/** A key (`keyId` set) or the web (`keyId` null) on behalf of an account. */
export type Caller = {
  accountId: string;
  keyId: string | null;
  /** The account's plan when the credential was looked up: for the minute limits. Charges read the plan themselves. */
  plan: string;
};

declare module 'fastify' {
  interface FastifyRequest {
    /** Set by the guard of the scope; reading it on a public route throws. */
    caller: Caller;
  }
}
