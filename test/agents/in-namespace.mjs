/**
 * Runs a command in a new network namespace: `unshare -rn node in-namespace.mjs SOCKET PORT COMMAND …`. Loopback is the
 * only network there, and 127.0.0.1:PORT forwards to the Unix socket SOCKET outside. This is plain JavaScript, because
 * it starts in the working directory of the agent.
 */
import { spawn, spawnSync } from 'node:child_process';
import { connect, createServer } from 'node:net';
import { networkInterfaces } from 'node:os';
import { pipeline } from 'node:stream';

const [socketPath, port, command, ...parameters] = process.argv.slice(2);

spawnSync('ip', ['link', 'set', 'lo', 'up'], { stdio: 'inherit' });
const names = Object.keys(networkInterfaces());
if (names.join() !== 'lo')
  throw new Error(`Expected lo to be the only interface, but found: ${names.join(', ') || 'none'}`);

// A signal reaches the whole process group. Ignore it here, so that the agent shuts down and closes its connections.
for (const signal of ['SIGTERM', 'SIGINT']) process.on(signal, () => {});

const forwarder = createServer((client) => {
  const service = connect(socketPath);
  pipeline(client, service, client, () => {});
});
forwarder.listen(Number(port), '127.0.0.1', () => {
  const agent = spawn(command, parameters, { stdio: 'inherit' });
  agent.on('close', (code) => process.exit(code ?? 1));
});
