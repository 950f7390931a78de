import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Attack } from '../attack.ts';

const CONNECTIONS = 400;
const paths = ['/auth/login', '/auth/signup', '/keys/report-leak'];
const part = Buffer.alloc(3 * 1024, '{},');

export default {
  title: '400 connections without a credential whose bodies never end',
  async run({ port }, count, signal) {
    await Promise.all(
      Array.from({ length: CONNECTIONS }, async (_, number) => {
        while (!signal.aborted) {
          const socket = connect(port, '127.0.0.1');
          let received = '';
          socket
            .on('error', () => {})
            .on('data', (data) => {
              received += data;
            });
          const closed = once(socket, 'close');
          socket.write(
            `POST /api/v1${paths[number % paths.length]} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n`,
          );
          while (!signal.aborted && socket.writable) {
            socket.write(`${part.length.toString(16)}\r\n`);
            socket.write(part);
            socket.write('\r\n');
            await Promise.race([sleep(1000), closed]);
          }
          socket.destroy();
          if (!signal.aborted) count(/^HTTP\/1\.1 (\d{3})/.exec(received)?.[1] ?? 'closed');
        }
      }),
    );
  },
} satisfies Attack;
