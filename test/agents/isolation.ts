/** Agents run with only the loopback network, in a separate network namespace where the system allows it. */
import { execFile, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pipeline } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { Test } from 'tap';

type Command = [string, string[]];

export type Isolation = {
  /** A description for the output of the tests. */
  description: string;
  /** Whether agents run in a network namespace; otherwise only through unreachable proxies. */
  isNamespace: boolean;
  /** Wraps a command so that it can reach only the service. */
  wrap(command: Command): Command;
  environment: Record<string, string>;
};

const launcher = fileURLToPath(new URL('in-namespace.mjs', import.meta.url));
const wrapped = (socket: string, port: string, [command, parameters]: Command): Command => [
  'unshare',
  ['-rn', process.execPath, launcher, socket, port, command, ...parameters],
];

/** The reason why this system provides no namespace, or undefined if it does. */
function problem(): string | undefined {
  const [command, parameters] = wrapped('/nonexistent', '1', [process.execPath, ['--version']]);
  const { error, status, stderr } = spawnSync(command, parameters, { encoding: 'utf8' });
  if (error) return error.message;
  return status === 0 ? undefined : (/\w*Error: .*/.exec(stderr)?.[0] ?? stderr.trim());
}

/** Nothing listens on this port. */
const NOWHERE = 'http://127.0.0.1:9';
const proxies = { HTTP_PROXY: NOWHERE, HTTPS_PROXY: NOWHERE, NO_PROXY: '127.0.0.1,localhost' };

/**
 * Prepares the isolation of agents, until the test ends.
 *
 * @param origin - the service, which listens on 127.0.0.1 outside the namespace
 */
export async function isolation(t: Test, origin: string): Promise<Isolation> {
  const why = problem();
  if (why !== undefined)
    return {
      description: `the machine's network with unreachable proxies, because no namespace is available: ${why}`,
      isNamespace: false,
      wrap: (command) => command,
      environment: proxies,
    };
  const { port } = new URL(origin);
  const folder = mkdtempSync(join(tmpdir(), 'parley-forwarder-'));
  const socket = join(folder, 'service');
  const forwarder = createServer((client) => {
    pipeline(client, connect(Number(port), '127.0.0.1'), client, () => {});
  });
  await new Promise<void>((resolve) => forwarder.listen(socket, resolve));
  t.teardown(() => {
    forwarder.close();
    rmSync(folder, { recursive: true, force: true });
  });
  return {
    description: 'a namespace in which loopback is the only interface',
    isNamespace: true,
    wrap: (command) => wrapped(socket, port, command),
    environment: {},
  };
}

/** Prints the network interfaces, and the results of connecting to the service, another port, and another machine. */
const probe = `
const { connect } = require('node:net');
const [, service, other] = process.argv;
const ending = (port, host) => new Promise((resolve) => {
  const socket = connect(port, host, () => resolve('open'));
  socket.once('error', ({ code }) => resolve(code));
});
Promise.all([ending(service, '127.0.0.1'), ending(other, '127.0.0.1'), ending(80, '192.0.2.1')]).then((endings) => {
  console.log(JSON.stringify([Object.keys(require('node:os').networkInterfaces()), ...endings]));
  process.exit();
});`;

/**
 * Asserts that an isolated process has only the loopback interface, and can connect only to the service.
 *
 * @param service - the origin of the service
 * @param other - the URL of another server outside the namespace
 */
export async function testIsolation(t: Test, { wrap }: Isolation, service: string, other: string) {
  const ports = [service, other].map((url) => new URL(url).port);
  const { stdout } = await promisify(execFile)(...wrap([process.execPath, ['-e', probe, ...ports]]));
  t.same(JSON.parse(stdout), [['lo'], 'open', 'ECONNREFUSED', 'ENETUNREACH']);
}
