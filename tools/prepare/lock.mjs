import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Failure } from './console.mjs';
import { stopWhenInterrupted } from './process.mjs';

const beatMs = 1000;
const pollMs = 200;

/**
 * Acquires the lock of a folder. Waits while another process holds it, and takes over the lock of a killed process.
 *
 * The lock is the file `lock.<n>` with the highest n. Its holder rewrites it every second. If the waiting process sees no
 * change for ten seconds, the holder is dead. This depends neither on clocks nor on a laptop's sleep. The process ID
 * only saves those ten seconds, and only on the same boot and in the same PID namespace, so not across containers.
 *
 * To replace a dead or released lock, a process creates `lock.<n+1>`, which only one process can do. Only lower numbers
 * are removed, so a latecomer that creates an old number finds a higher one and backs off.
 *
 * @param {string} folder
 * @param {object} options
 * @param {() => void} options.onWait called once, if another process holds the lock
 * @param {number} [options.deadAfterMs] how long a lock can stay unchanged before it is taken over
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
    /** Keeps the file, marked as released, because the next holder increments its number. */
    release() {
      clearInterval(heart);
      if (highestLock(folder) === number) fs.writeFileSync(file, 'released');
    },
    /** A process that was stopped (Ctrl-Z) for too long has lost the lock. */
    assertHeld() {
      if (highestLock(folder) !== number) {
        throw new Failure('Another command took over while this one was stopped: run this again.');
      }
    },
  };
}

function lockNumbers(folder) {
  let names = [];
  try {
    names = fs.readdirSync(folder);
  } catch (error) {
    // The checkout was cleaned (git clean), so the lock is lost. assertHeld reports it.
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

/** True only if the holder has certainly exited. */
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

/** Equal for two processes only if they share process IDs. */
function machine() {
  let kernel = '';
  try {
    kernel = `${fs.readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()} ${fs.readlinkSync('/proc/self/ns/pid')}`;
  } catch {}
  return `${os.hostname()} ${kernel}`;
}
