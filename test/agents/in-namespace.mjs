/**
 * Runs a command in a network namespace of its own: `node in-namespace.mjs SOCKET PORT COMMAND …`, inside `unshare -rn`.
 * Its loopback is the only network there, and 127.0.0.1:PORT leads to the Unix socket SOCKET outside. Plain JavaScript,
 * because it starts in the folder of the agent.
 */
import { spawn, spawnSync } from 'node:child_process';
import { connect, createServer } from 'node:net';
import { networkInterfaces } from 'node:os';
import { pipeline } from 'node:stream';

const [socketPath, port, command, ...parameters] = process.argv.slice(2);

spawnSync('ip', ['link', 'set', 'lo', 'up'], { stdio: 'inherit' });
const names = Object.keys(networkInterfaces());
if (names.join() !== 'lo')
  throw new Error(`The interfaces here are not only lo: ${names.join(', ') || 'none'}`);

// Signals go to the whole group. The agent has to end by itself, and its connections with it.
for (const signal of ['SIGTERM', 'SIGINT']) process.on(signal, () => {});

const forwarder = createServer((client) => {
  const service = connect(socketPath);
  pipeline(client, service, client, () => {});
});
forwarder.listen(Number(port), '127.0.0.1', () => {
  const agent = spawn(command, parameters, { stdio: 'inherit' });
  agent.on('close', (code) => process.exit(code ?? 1));
});
