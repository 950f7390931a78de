/** Helpers for programs that tests run alongside the service. */
import { execFileSync } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { createServer } from 'node:net';

/** Whether a program is installed. Without it, its tests are skipped. */
export function isInstalled(program: string): boolean {
  try {
    execFileSync(program, ['--version'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

/**
 * Systems choose higher ports for outgoing connections and for servers that listen on port 0. Lower ones include 10080,
 * which `fetch` and browsers block.
 */
const PORTS = { first: 10_100, end: 32_768 };

/** Returns a port that is currently free, and that no connection takes while a server on it restarts. */
export async function freePort(): Promise<number> {
  const port = randomInt(PORTS.first, PORTS.end);
  const probe = createServer();
  const isFree = await new Promise<boolean>((resolve) =>
    probe.once('error', () => resolve(false)).listen(port, '127.0.0.1', () => resolve(true)),
  );
  await new Promise((resolve) => probe.close(resolve));
  return isFree ? port : freePort();
}
