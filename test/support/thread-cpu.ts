/** What the event loop of a process costs, apart from its other threads: the system counts for each thread by itself. */
import fs from 'node:fs';

/** Whether the system tells. */
export const tellsThreadCpu = fs.existsSync('/proc/self/schedstat');

/** Pages that the main thread of a process has touched for the first time. */
export function mainThreadFaults(pid: number): number {
  const stat = fs.readFileSync(`/proc/${pid}/task/${pid}/stat`, 'utf8');
  // After the name, which may contain spaces: state, parent, group, session, terminal, its group, flags, minor faults.
  return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[7]);
}

const CALIBRATION_VALUES = 2 ** 20;
const LEAST_FAULTS = 512;
/** What a page costs on a machine of its own. */
const USUAL_PAGE_MS = 0.001;

/**
 * How much more than usual a new page costs this thread now, in milliseconds: on some virtual machines, twenty to a hundred times as
 * much. Undefined if the memory was not new.
 */
export function extraPageMs(): number | undefined {
  const before = { cpu: mainThreadCpuMs(process.pid), faults: mainThreadFaults(process.pid) };
  // V8 maps large objects anew each time, unlike buffers, whose memory the C library may have kept.
  new Array(CALIBRATION_VALUES).fill(0);
  const faults = mainThreadFaults(process.pid) - before.faults;
  if (faults < LEAST_FAULTS) return undefined;
  return Math.max(0, (mainThreadCpuMs(process.pid) - before.cpu) / faults - USUAL_PAGE_MS);
}

/** Milliseconds of CPU that the main thread of a process has used: a busy machine does not change them. */
export function mainThreadCpuMs(pid: number): number {
  const [nanoseconds] = fs.readFileSync(`/proc/${pid}/task/${pid}/schedstat`, 'utf8').split(' ');
  return Number(nanoseconds) / 1e6;
}
