/** Portkey's gateway, which does not authenticate, count, or log. Its streams fail with newer @hono/node-server. */
import { connect, createServer } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

const UPSTREAM = process.env.UPSTREAM_URL;

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
process.send({
  port,
  headers: {
    authorization: 'Bearer none',
    'x-portkey-provider': 'openai',
    'x-portkey-custom-host': UPSTREAM,
  },
});
process.on('disconnect', () => process.exit());
