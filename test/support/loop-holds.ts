// Loaded before the service's own code (`--import`): writes down the turns of the event loop that held it long.
import fs from 'node:fs';
import { isMainThread } from 'node:worker_threads';
import { extraPageMs, mainThreadCpuMs, mainThreadFaults } from './thread-cpu.ts';

/** Shorter ones are of no interest. */
const LEAST_MS = 5;

const file = process.env.LOOP_HOLDS_FILE;
const spent = () => ({ cpuMs: mainThreadCpuMs(process.pid), faults: mainThreadFaults(process.pid) });
let pageMs = extraPageMs() ?? 0;
let before = spent();

/** A turn is what the loop does between two immediates: timers, and whatever arrived. */
function turn() {
  const now = spent();
  const cpuMs = now.cpuMs - before.cpuMs;
  if (file !== undefined && cpuMs >= LEAST_MS) {
    // What the machine charges for memory is not the service's, and changes with its load: the higher of before and after counts.
    const pageMsNow = extraPageMs() ?? pageMs;
    const charged = (now.faults - before.faults) * Math.max(pageMs, pageMsNow);
    fs.appendFileSync(file, `${(cpuMs - charged).toFixed(1)}\n`);
    pageMs = pageMsNow;
    before = spent();
  } else before = now;
  setImmediate(turn);
}

// Workers inherit what is loaded before the code.
if (isMainThread) turn();
