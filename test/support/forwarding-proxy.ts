/** Reverse proxies in front of a service, each its own process at its own loopback address. */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { Test } from 'tap';
import { typescriptLoader } from './loader.ts';

const program = fileURLToPath(new URL('./forwarding-program.ts', import.meta.url));

/**
 * Starts a reverse proxy; it is killed when the test ends.
 *
 * @param address - a loopback address to listen at, and to call the target from
 * @param target - origin that it leads to
 * @returns its own origin
 */
export async function startForwardingProxy(t: Test, address: string, target: string): Promise<string> {
  const child = fork(program, [address, target], { execArgv: [typescriptLoader] });
  t.teardown(() => child.kill('SIGKILL'));
  const [port] = await once(child, 'message');
  return `http://${address}:${port}`;
}
