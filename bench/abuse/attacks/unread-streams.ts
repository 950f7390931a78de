import { once } from 'node:events';
import { connect } from 'node:net';
import type { Attack } from '../attack.ts';
import { clients } from '../client.ts';

const body = JSON.stringify({
  stream: true,
  user: 'chunks=100000,chunkSize=1000',
  messages: [{ role: 'user', content: 'Hi' }],
});

export default {
  title: 'endless streams that 50 clients never read',
  async run({ keys, port }, count, signal) {
    await clients(50, signal, async (client) => {
      const socket = connect(port, '127.0.0.1');
      socket.on('error', () => {});
      const closed = once(socket, 'close');
      socket.write(
        `POST /api/v1/chat/completions HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${keys[client % keys.length]}\r\n` +
          `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
      );
      const [first] = (await Promise.race([
        once(socket, 'data').catch(() => ['']),
        closed.then(() => ['']),
        once(signal, 'abort').then(() => ['']),
      ])) as [Buffer | string];
      socket.pause();
      const status = /^HTTP\/1\.1 (\d{3})/.exec(String(first))?.[1] ?? 'closed';
      count(status);
      if (status === '200') await Promise.race([closed, once(signal, 'abort')]);
      socket.destroy();
    });
  },
} satisfies Attack;
