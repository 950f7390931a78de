// Loaded before a replica's code with `--import`, in each of its threads.
import { isMainThread } from 'node:worker_threads';

if (isMainThread) {
  // Exit with the test that started the replica, even if the test crashes.
  process.stdin.on('end', () => process.exit()).resume();
  process.stdin.unref();
}

// Skew the clock by CLOCK_SKEW_MS.
const skewMs = Number(process.env.CLOCK_SKEW_MS ?? 0);
const RealDate = Date;

class SkewedDate extends RealDate {
  constructor(...given) {
    if (given.length === 0) super(RealDate.now() + skewMs);
    else super(...given);
  }

  static now() {
    return RealDate.now() + skewMs;
  }
}

if (skewMs !== 0) globalThis.Date = SkewedDate;
