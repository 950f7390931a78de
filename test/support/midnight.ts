/** Daily quotas reset at 00:00 UTC. Most tests would fail if that happened while they run. */
import { setTimeout as delay } from 'node:timers/promises';

const DAY_MS = 86_400_000;
/** Longer than any test file takes on a busy machine. */
const LONGEST_FILE_MS = 6 * 60_000;
const MARGIN_MS = 1000;

/** How long a test file that would start at this time must wait, so that it does not run across 00:00 UTC. */
export function msUntilStart(nowMs: number): number {
  const left = DAY_MS - (nowMs % DAY_MS);
  return left > LONGEST_FILE_MS ? 0 : left + MARGIN_MS;
}

let isAnnounced = false;

/** Waits if 00:00 UTC is near, and says so once. */
export async function midnightIsFar(): Promise<void> {
  const ms = msUntilStart(Date.now());
  if (ms === 0) return;
  if (!isAnnounced)
    console.log(`Waiting ${Math.ceil(ms / 1000)} s for 00:00 UTC, because daily quotas reset then.`);
  isAnnounced = true;
  await delay(ms);
}
