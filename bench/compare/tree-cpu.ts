/** The CPU time of a process tree. */
import fs from 'node:fs';
import { processTree } from '../../test/support/process-tree.ts';

const TICK_MS = 10;

/**
 * CPU milliseconds of a process and its descendants so far, in ticks of 10 ms. Includes children that have ended. NaN on a
 * system without `/proc`.
 */
export function treeCpuMs(root: number): number {
  if (process.platform !== 'linux') return Number.NaN;
  let ticks = 0;
  for (const pid of processTree(root)) {
    try {
      const stat = fs.readFileSync(`/proc/${pid}/stat`, 'utf8');
      // utime, stime, and those of the children that were waited for: an ended child moves from one to the other.
      const times = stat
        .slice(stat.lastIndexOf(')') + 2)
        .split(' ')
        .slice(11, 15);
      for (const time of times) ticks += Number(time);
    } catch {
      // The process has ended: its parent counts it.
    }
  }
  return ticks * TICK_MS;
}
