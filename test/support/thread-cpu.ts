/** What the event loop of a process costs, apart from its other threads: the system counts for each thread by itself. */
import fs from 'node:fs';

/** Whether the system tells. */
export const tellsThreadCpu = fs.existsSync('/proc/self/schedstat');

/** Milliseconds of CPU that the main thread of a process has used: a busy machine does not change them. */
export function mainThreadCpuMs(pid: number): number {
  const [nanoseconds] = fs.readFileSync(`/proc/${pid}/task/${pid}/schedstat`, 'utf8').split(' ');
  return Number(nanoseconds) / 1e6;
}
