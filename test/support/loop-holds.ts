// Loaded before the service's code with `--import`. Records the CPU time of long turns of the event loop in
// LOOP_HOLDS_FILE.
import fs from 'node:fs';
import { isMainThread } from 'node:worker_threads';
import { extraPageMs, mainThreadCpuMs, mainThreadFaults } from './thread-cpu.ts';

/** Shorter turns are not recorded. */
const MIN_MS = 5;

const file = process.env.LOOP_HOLDS_FILE;
const spent = () => ({ cpuMs: mainThreadCpuMs(process.pid), faults: mainThreadFaults(process.pid) });
let pageMs = extraPageMs() ?? 0;
let before = spent();

/** Runs once per turn of the event loop, and measures the time since the previous call. */
function turn() {
  const now = spent();
  const cpuMs = now.cpuMs - before.cpuMs;
  if (file !== undefined && cpuMs >= MIN_MS) {
    // Subtract the machine's extra cost of new pages. It changes with the load, so use the higher of before and after.
    const pageMsNow = extraPageMs() ?? pageMs;
    const charged = (now.faults - before.faults) * Math.max(pageMs, pageMsNow);
    fs.appendFileSync(file, `${(cpuMs - charged).toFixed(1)}\n`);
    pageMs = pageMsNow;
    before = spent();
  } else before = now;
  setImmediate(turn);
}

// Worker threads inherit `--import`.
if (isMainThread) turn();
