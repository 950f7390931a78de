/** What a request body may cost before anybody looks at what it says. Contract section 6. */

const KIB = 1024;
const MIB = 1024 * KIB;

/** Largest bodies, in bytes. */
export const bodyLimits = {
  /** Sign-up, sign-in, sign-out. */
  auth: 4 * KIB,
  /** Whatever the signed-in dashboard sends: keys, account, sessions, subscription. */
  account: 16 * KIB,
  leakReports: 64 * KIB,
  chat: 20 * MIB,
  /** Where a route does not say otherwise. */
  other: MIB,
} as const;

/** Deepest nesting of a body. */
export const MAX_NESTING = 32;
/** Most of `{ } [ ] :` outside strings. */
export const MAX_STRUCTURE = 100_000;
/** Most commas outside strings. */
export const MAX_COMMAS = 1_000_000;

/** Bodies that are larger are scanned and parsed on a worker thread. */
export const PARSED_IN_PLACE_BYTES = MIB;
/** So are bodies with more structural characters and commas than this: parsing them takes longer than their size tells. */
export const PARSED_IN_PLACE_MARKS = 5000;

/** A body has this long before its speed counts. */
export const UNMEASURED_MS = 10_000;
/** A body in chunks has so many of them before their size counts. */
export const UNMEASURED_CHUNKS = 10_000;
/** The average size, in bytes, that its chunks need from then on: each costs far more than a byte. */
export const MIN_CHUNK_BYTES = 64;
/** The average speed, in bytes a second, that a body needs from then on. */
export const MIN_BYTES_PER_SECOND = 64 * KIB;
