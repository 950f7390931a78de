/** Helpers for programs that tests run alongside the service. */
import { execFileSync } from 'node:child_process';
import { type AddressInfo, createServer } from 'node:net';

/** Whether a program is installed. Without it, its tests are skipped. */
export function isInstalled(program: string): boolean {
  try {
    execFileSync(program, ['--version'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

/** Returns a port that is currently free. */
export async function freePort(): Promise<number> {
  const probe = createServer();
  await new Promise<void>((resolve, reject) => probe.once('error', reject).listen(0, '127.0.0.1', resolve));
  const { port } = probe.address() as AddressInfo;
  await new Promise((resolve) => probe.close(resolve));
  return port;
}
