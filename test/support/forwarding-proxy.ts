/** Reverse proxies in front of a service, each in its own process with its own loopback address. */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { Test } from 'tap';
import { typescriptLoader } from './loader.ts';

const program = fileURLToPath(new URL('./forwarding-program.ts', import.meta.url));

/**
 * Starts a reverse proxy, which is killed when the test ends.
 *
 * @param address - the loopback address to listen on, and to connect from
 * @param target - the origin to forward requests to
 * @returns the origin of the proxy
 */
export async function startForwardingProxy(t: Test, address: string, target: string): Promise<string> {
  const child = fork(program, [address, target], { execArgv: [typescriptLoader] });
  t.teardown(() => child.kill('SIGKILL'));
  const [port] = await once(child, 'message');
  return `http://${address}:${port}`;
}
