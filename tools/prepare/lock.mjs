import { createHash } from 'node:crypto';
import { once } from 'node:events';
import fs from 'node:fs';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { stopWhenInterrupted } from './process.mjs';

const pollMs = 200;

/**
 * Acquires the lock of a checkout, and waits while another process on this machine holds it. The lock is a socket on
 * which the holder listens. The kernel allows only one listener, and closes the socket when the process ends for any
 * reason. Containers that share a checkout do not exclude each other.
 *
 * @param {string} root
 * @param {{ onWait: () => void }} options `onWait` is called once if another process holds the lock
 * @returns {Promise<{ release(): void }>}
 */
export async function takeLock(root, { onWait }) {
  const address = addressOf(root);
  let waiting = false;
  for (;;) {
    stopWhenInterrupted();
    const server = await listen(address);
    if (server) return { release: () => server.close() };
    if (await isAbandoned(address)) {
      fs.rmSync(address, { force: true });
      continue;
    }
    if (!waiting) onWait();
    waiting = true;
    await sleep(pollMs);
  }
}

/** On Linux, an abstract socket without a file. Elsewhere, a file, which remains if the process is killed. */
function addressOf(root) {
  const name = `parley-${createHash('sha256').update(fs.realpathSync(root)).digest('hex').slice(0, 16)}`;
  return process.platform === 'linux' ? `\0${name}` : path.join(os.tmpdir(), name);
}

async function listen(address) {
  const server = net.createServer((socket) => socket.destroy()).listen(address);
  try {
    await once(server, 'listening');
    return server;
  } catch (error) {
    if (error.code === 'EADDRINUSE') return undefined;
    throw error;
  }
}

/** Whether the socket is a file without a listener. */
async function isAbandoned(address) {
  if (address.startsWith('\0')) return false;
  const socket = net.connect(address);
  try {
    await once(socket, 'connect');
    return false;
  } catch (error) {
    return error.code === 'ECONNREFUSED';
  } finally {
    socket.destroy();
  }
}
