/** UUIDv7 IDs. Within a process, they sort by time even within a millisecond (RFC 9562, sections 5.7 and 6.2). */
import { randomFillSync } from 'node:crypto';
import { v7 as uuidv7 } from 'uuid';

const BYTES_PER_ID = 16;
const MAX_SEQUENCE = 0x7fffffff;

/** Random bytes for 256 IDs, because fetching them requires a system call. */
const pool = Buffer.alloc(256 * BYTES_PER_ID);
let used = pool.length;
let msecs = 0;
let seq = 0;

/** Returns random bytes. They are valid until the pool is refilled. */
function nextRandom(): Buffer {
  if (used === pool.length) {
    randomFillSync(pool);
    used = 0;
  }
  used += BYTES_PER_ID;
  return pool.subarray(used - BYTES_PER_ID, used);
}

/** Creates the ID of a span: 16 hexadecimal digits (W3C Trace Context). */
export const newSpanId = (): string => nextRandom().toString('hex', 0, 8);

export function newId(): string {
  const random = nextRandom();
  const now = Date.now();
  if (now > msecs || seq === MAX_SEQUENCE) {
    msecs = Math.max(now, msecs + 1);
    // Leave half of the range to later IDs of the same millisecond.
    seq = random.readUInt32BE(6) >>> 2;
  } else {
    seq += 1;
  }
  return uuidv7({ random, msecs, seq });
}
