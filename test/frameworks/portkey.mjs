/** Portkey's gateway, an OpenAI-compatible server, in a process of its own. With newer @hono/node-server, its streams fail. */
import { connect, createServer } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

const freePort = () =>
  new Promise((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });
const isListening = (port) =>
  new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => resolve(true)).on('error', () => resolve(false));
    socket.on('connect', () => socket.destroy());
  });

const port = await freePort();
process.env.TRUSTED_CUSTOM_HOSTS = '127.0.0.1';
process.argv.push(`--port=${port}`, '--headless');
await import('@portkey-ai/gateway/build/start-server.js');
while (!(await isListening(port))) await sleep(20);
process.send({ port });
process.on('disconnect', () => process.exit());
