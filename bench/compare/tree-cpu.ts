/** The CPU time of a process tree. */
import fs from 'node:fs';
import { processTree } from '../../test/support/process-tree.ts';

const TICK_MS = 10;

/**
 * The CPU milliseconds that a process and its descendants have used, in ticks of 10 ms. Includes children that have exited. NaN
 * on a system without `/proc`.
 */
export function treeCpuMs(root: number): number {
  if (process.platform !== 'linux') return Number.NaN;
  let ticks = 0;
  for (const pid of processTree(root)) {
    try {
      const stat = fs.readFileSync(`/proc/${pid}/stat`, 'utf8');
      // utime, stime, cutime, and cstime. When a parent reaps a child, the child's times move to cutime and cstime.
      const times = stat
        .slice(stat.lastIndexOf(')') + 2)
        .split(' ')
        .slice(11, 15);
      for (const time of times) ticks += Number(time);
    } catch {
      // The process has exited. The times of its parent include it.
    }
  }
  return ticks * TICK_MS;
}
