/**
 * The CPU time of a process's event loop without its other threads, from the operating system's counters per thread.
 */
import fs from 'node:fs';

/** Whether the operating system reports the CPU time of each thread. */
export const tellsThreadCpu = fs.existsSync('/proc/self/schedstat');

/** The number of minor page faults of a process's main thread. */
export function mainThreadFaults(pid: number): number {
  const stat = fs.readFileSync(`/proc/${pid}/task/${pid}/stat`, 'utf8');
  // Fields after the name, which may contain spaces: state, parent, group, session, terminal, its group, flags, faults.
  return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[7]);
}

const CALIBRATION_VALUES = 2 ** 20;
const MIN_FAULTS = 512;
/** The cost of a new page on a physical machine. */
const USUAL_PAGE_MS = 0.001;

/**
 * The extra cost of a new page for this thread at the moment, in milliseconds. On some virtual machines, a page costs
 * twenty to a hundred times as much as usual. Undefined if the memory was not new.
 */
export function extraPageMs(): number | undefined {
  const before = { cpu: mainThreadCpuMs(process.pid), faults: mainThreadFaults(process.pid) };
  // V8 maps new memory for each large object, unlike for buffers, whose memory the C library may have kept.
  new Array(CALIBRATION_VALUES).fill(0);
  const faults = mainThreadFaults(process.pid) - before.faults;
  if (faults < MIN_FAULTS) return undefined;
  return Math.max(0, (mainThreadCpuMs(process.pid) - before.cpu) / faults - USUAL_PAGE_MS);
}

/** The CPU time of a process's main thread, in milliseconds. Other load on the machine does not distort it. */
export function mainThreadCpuMs(pid: number): number {
  const [nanoseconds] = fs.readFileSync(`/proc/${pid}/task/${pid}/schedstat`, 'utf8').split(' ');
  return Number(nanoseconds) / 1e6;
}
