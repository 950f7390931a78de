// Loaded before the service's own code (`--import`): writes down the turns of the event loop that held it long.
import fs from 'node:fs';
import { isMainThread } from 'node:worker_threads';
import { mainThreadCpuMs, mainThreadFaults } from './thread-cpu.ts';

/** Shorter ones are of no interest. */
const LEAST_MS = 5;

const file = process.env.LOOP_HOLDS_FILE;
/** What the machine charges for memory is not the service's. */
const pageMs = Number(process.env.LOOP_HOLDS_PAGE_MS ?? 0);
const spentMs = () => mainThreadCpuMs(process.pid) - mainThreadFaults(process.pid) * pageMs;
let before = spentMs();

/** A turn is what the loop does between two immediates: timers, and whatever arrived. */
function turn() {
  const now = spentMs();
  if (file !== undefined && now - before >= LEAST_MS) {
    fs.appendFileSync(file, `${(now - before).toFixed(1)}\n`);
    before = spentMs();
  } else before = now;
  setImmediate(turn);
}

// Workers inherit what is loaded before the code.
if (isMainThread) turn();
