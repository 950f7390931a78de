/** Agents run without a network but loopback, in a namespace of their own where the system allows it. */
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
  /** For the output of the tests. */
  description: string;
  isNamespace: boolean;
  /** The command, without a network but loopback, where only the service can be reached. */
  wrap(command: Command): Command;
  environment: Record<string, string>;
};

const launcher = fileURLToPath(new URL('in-namespace.mjs', import.meta.url));
const wrapped = (socket: string, port: string, [command, parameters]: Command): Command => [
  'unshare',
  ['-rn', process.execPath, launcher, socket, port, command, ...parameters],
];

/** Why this system gives no namespace; undefined if it does. */
function problem(): string | undefined {
  const [command, parameters] = wrapped('/nonexistent', '1', [process.execPath, ['--version']]);
  const { error, status, stderr } = spawnSync(command, parameters, { encoding: 'utf8' });
  if (error) return error.message;
  return status === 0 ? undefined : (/\w*Error: .*/.exec(stderr)?.[0] ?? stderr.trim());
}

/** Nobody listens here. */
const NOWHERE = 'http://127.0.0.1:9';
const proxies = { HTTP_PROXY: NOWHERE, HTTPS_PROXY: NOWHERE, NO_PROXY: '127.0.0.1,localhost' };

/** @param origin - the service, which listens on 127.0.0.1 outside */
export async function isolation(t: Test, origin: string): Promise<Isolation> {
  const why = problem();
  if (why !== undefined)
    return {
      description: `that of this machine, through proxies that lead nowhere, because there is no namespace: ${why}`,
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

/** Prints the interfaces there are, and how connections end: to the service, to another port, and to another machine. */
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
 * Checks from the inside that loopback is the only interface, and that it leads to nothing but the service.
 *
 * @param other - another server outside
 */
export async function testIsolation(t: Test, { wrap }: Isolation, service: string, other: string) {
  const ports = [service, other].map((url) => new URL(url).port);
  const { stdout } = await promisify(execFile)(...wrap([process.execPath, ['-e', probe, ...ports]]));
  t.same(JSON.parse(stdout), [['lo'], 'open', 'ECONNREFUSED', 'ENETUNREACH']);
}
