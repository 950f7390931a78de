import { spawn } from 'node:child_process';
import { Failure } from './console.mjs';

/** Thrown after Ctrl-C (or SIGTERM, SIGHUP), when the running program has exited. */
export class Interrupted extends Error {}

let interrupted = false;
let running;

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
  process.on(signal, () => {
    interrupted = true;
    // Not SIGTERM, because npm takes seconds to exit, and its output is discarded in any case.
    if (running?.pid !== undefined) killGroup(running.pid);
  });
}

function killGroup(leader) {
  try {
    process.kill(-leader, 'SIGKILL');
  } catch (error) {
    if (error.code !== 'ESRCH') throw error;
  }
}

/** Throws after an interruption. Call it in every loop. */
export function stopWhenInterrupted() {
  if (interrupted) throw new Interrupted();
}

/**
 * Runs a program and collects its output.
 *
 * @param {string} program
 * @param {string[]} args
 * @param {{ cwd: string, env?: NodeJS.ProcessEnv }} options
 * @returns {Promise<{ code: number | null, output: string }>}
 * @throws {Failure} if the program does not exist
 * @throws {Interrupted} after the program has exited
 */
export function collect(program, args, { cwd, env = process.env }) {
  stopWhenInterrupted();
  return new Promise((resolve, reject) => {
    // A new process group (detached), so that the program's child processes end with it.
    const child = spawn(program, args, { cwd, env, stdio: ['ignore', 'pipe', 'pipe'], detached: true });
    running = child;
    let output = '';
    const keep = (chunk) => {
      output += chunk;
    };
    child.stdout.setEncoding('utf8').on('data', keep);
    child.stderr.setEncoding('utf8').on('data', keep);
    child.on('error', (error) => {
      running = undefined;
      const missing = `${program} is not installed: it comes with Node.js from https://nodejs.org/en/download`;
      reject(
        error.code === 'ENOENT'
          ? new Failure(`${missing} (on Debian also: apt-get install ${program}).`)
          : error,
      );
    });
    child.on('close', (code) => {
      running = undefined;
      if (interrupted) reject(new Interrupted());
      else resolve({ code, output });
    });
  });
}
