/** Limits on request bodies. Contract section 6. */

const KIB = 1024;
const MIB = 1024 * KIB;

/** Maximum body sizes, in bytes. */
export const bodyLimits = {
  auth: 4 * KIB,
  account: 16 * KIB,
  leakReports: 64 * KIB,
  chat: 20 * MIB,
  embeddings: 8 * MIB,
  other: MIB,
} as const;

export const MAX_NESTING = 32;
/** Maximum count of `{ } [ ] :` outside strings. */
export const MAX_STRUCTURE = 100_000;
/** Maximum count of commas outside strings. */
export const MAX_COMMAS = 1_000_000;

/** Larger bodies, in bytes, are scanned and parsed on a worker thread. */
export const PARSED_IN_PLACE_BYTES = MIB;
/** Bodies with more structural characters and commas are too: they take longer to parse than their size suggests. */
export const PARSED_IN_PLACE_MARKS = 5000;

/** Bodies up to this size, in bytes, are read at full speed. */
export const UNPACED_BYTES = MIB;

/** Time before the speed of a body is checked. */
export const UNMEASURED_MS = 10_000;
/** Number of chunks before their size is checked. */
export const UNMEASURED_CHUNKS = 10_000;
/** Minimum average chunk size after that, in bytes. A chunk costs far more than a byte. */
export const MIN_CHUNK_BYTES = 64;
/** Minimum average speed after that. */
export const MIN_BYTES_PER_SECOND = 64 * KIB;
