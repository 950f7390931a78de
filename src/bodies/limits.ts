/** Limits of request bodies. Contract section 6. */

const KIB = 1024;
const MIB = 1024 * KIB;

/** Maximum sizes in bytes. */
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

/** Larger bodies are scanned and parsed on a worker thread. */
export const PARSED_IN_PLACE_BYTES = MIB;
/** So are bodies with more structural characters and commas, which take longer to parse than their size suggests. */
export const PARSED_IN_PLACE_MARKS = 5000;

/** Bodies up to this size are read at full speed. */
export const UNPACED_BYTES = MIB;

/** Time before a body's speed counts. */
export const UNMEASURED_MS = 10_000;
/** Number of chunks before their size counts. */
export const UNMEASURED_CHUNKS = 10_000;
/** Minimum average chunk size in bytes from then on: a chunk costs far more than a byte. */
export const MIN_CHUNK_BYTES = 64;
/** Minimum average speed from then on. */
export const MIN_BYTES_PER_SECOND = 64 * KIB;
