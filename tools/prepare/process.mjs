import { spawn } from 'node:child_process';
import { Failure } from './console.mjs';

/** Thrown once Ctrl-C (or SIGTERM, SIGHUP) was received and whatever was running has ended. */
export class Interrupted extends Error {}

let interrupted = false;
let running;

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
  process.on(signal, () => {
    interrupted = true;
    // Not SIGTERM, which npm takes seconds to obey: what it has written is thrown away in any case.
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

/** Throws where an interruption was asked for; anything that loops calls it. */
export function stopWhenInterrupted() {
  if (interrupted) throw new Interrupted();
}

/**
 * Runs a program to its end and collects what it prints.
 *
 * @param {string} program
 * @param {string[]} args
 * @param {{ cwd: string, env?: NodeJS.ProcessEnv }} options
 * @returns {Promise<{ code: number | null, output: string }>}
 * @throws {Failure} when there is no such program
 * @throws {Interrupted} after the program has ended
 */
export function collect(program, args, { cwd, env = process.env }) {
  stopWhenInterrupted();
  return new Promise((resolve, reject) => {
    // A group of its own (detached), so that what the program has started ends with it.
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
      const missing = `There is no ${program} here: it comes with Node.js from https://nodejs.org/en/download`;
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
