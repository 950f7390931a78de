// Loaded before the service's own code (`--import`): writes down the turns of the event loop that held it long.
import fs from 'node:fs';
import { isMainThread } from 'node:worker_threads';
import { mainThreadCpuMs } from './thread-cpu.ts';

/** Shorter ones are of no interest. */
const LEAST_MS = 5;

const file = process.env.LOOP_HOLDS_FILE;
let before = mainThreadCpuMs(process.pid);

/** A turn is what the loop does between two immediates: timers, and whatever arrived. */
function turn() {
  const now = mainThreadCpuMs(process.pid);
  if (file !== undefined && now - before >= LEAST_MS) {
    fs.appendFileSync(file, `${(now - before).toFixed(1)}\n`);
    before = mainThreadCpuMs(process.pid);
  } else before = now;
  setImmediate(turn);
}

// Workers inherit what is loaded before the code.
if (isMainThread) turn();
