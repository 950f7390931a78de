import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Failure } from './console.mjs';
import { stopWhenInterrupted } from './process.mjs';

const beatMs = 1000;
const pollMs = 200;

/**
 * Takes the lock of a folder, waiting while another process holds it. One that was left by a killed process is taken over.
 *
 * The lock is the file `lock.<n>` with the highest n. Its holder rewrites it every second; one that no longer changes,
 * as the waiting process itself observes it (so neither clocks nor a laptop's sleep matter), belongs to a dead process.
 * Its process id is looked at only to save those ten seconds, and only where it means something: on the same boot and in
 * the same pid namespace, so not across containers.
 *
 * A dead or released lock is succeeded by creating `lock.<n+1>`, which only one process can; files are removed only
 * below the highest, so a latecomer who creates an old number finds a higher one and steps back.
 *
 * @param {string} folder
 * @param {object} options
 * @param {() => void} options.onWait called once, when somebody else holds the lock
 * @param {number} [options.deadAfterMs] so long a lock may show no sign of life before it is taken over
 * @returns {Promise<{ release(): void, assertHeld(): void }>}
 */
export async function takeLock(folder, { onWait, deadAfterMs = 10_000 }) {
  let waiting = false;
  let seen = { state: undefined, at: 0 };
  for (;;) {
    stopWhenInterrupted();
    const highest = highestLock(folder);
    const state = highest === 0 ? 'released' : read(folder, highest);
    if (state !== seen.state) seen = { state, at: performance.now() };
    if (isReleased(state) || isGone(state) || performance.now() - seen.at > deadAfterMs) {
      const lock = create(folder, highest + 1);
      if (lock) return lock;
      continue;
    }
    if (!waiting) onWait();
    waiting = true;
    await sleep(pollMs);
  }
}

function create(folder, number) {
  const file = path.join(folder, `lock.${number}`);
  let beats = 0;
  const holder = { pid: process.pid, machine: machine() };
  const content = () => JSON.stringify({ ...holder, beats: beats++ });
  try {
    fs.writeFileSync(file, content(), { flag: 'wx' });
  } catch (error) {
    if (error.code === 'EEXIST') return undefined;
    throw error;
  }
  if (highestLock(folder) !== number) {
    fs.rmSync(file, { force: true });
    return undefined;
  }
  for (const other of lockNumbers(folder)) {
    if (other < number) fs.rmSync(path.join(folder, `lock.${other}`), { force: true });
  }
  const heart = setInterval(() => {
    if (highestLock(folder) === number) fs.writeFileSync(file, content());
  }, beatMs);
  heart.unref();
  return {
    /** Leaves the file where it is, marked: the next holder counts on from it. */
    release() {
      clearInterval(heart);
      if (highestLock(folder) === number) fs.writeFileSync(file, 'released');
    },
    /** A process that was stopped (Ctrl-Z) for longer than the lock lives has lost it. */
    assertHeld() {
      if (highestLock(folder) !== number) {
        throw new Failure(
          'Another command went on in place of this one while it was stopped: run this again.',
        );
      }
    },
  };
}

function lockNumbers(folder) {
  let names = [];
  try {
    names = fs.readdirSync(folder);
  } catch (error) {
    // Somebody cleaned the checkout (git clean): the lock is lost, which assertHeld reports.
    if (error.code !== 'ENOENT') throw error;
  }
  return names
    .map((name) => /^lock\.(\d+)$/.exec(name)?.[1])
    .filter((number) => number !== undefined)
    .map(Number);
}

const highestLock = (folder) => Math.max(0, ...lockNumbers(folder));

function read(folder, number) {
  try {
    return fs.readFileSync(path.join(folder, `lock.${number}`), 'utf8');
  } catch (error) {
    if (error.code === 'ENOENT') return '';
    throw error;
  }
}

const isReleased = (state) => state === 'released';

/** True only when the holder has certainly ended. */
function isGone(state) {
  let holder;
  try {
    holder = JSON.parse(state);
  } catch {
    return false;
  }
  if (holder.machine !== machine()) return false;
  try {
    process.kill(holder.pid, 0);
    return false;
  } catch (error) {
    return error.code === 'ESRCH';
  }
}

/** Equal for two processes only if a process id means the same to both. */
function machine() {
  let kernel = '';
  try {
    kernel = `${fs.readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()} ${fs.readlinkSync('/proc/self/ns/pid')}`;
  } catch {}
  return `${os.hostname()} ${kernel}`;
}
