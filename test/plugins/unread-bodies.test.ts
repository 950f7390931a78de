// Bodies that are refused before they have arrived: discarding the rest is cheap, and the client gets its response.
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import t from 'tap';
import { startTestService } from '../support/service.ts';

const MIB = 2 ** 20;
/** In MiB. Discarding it takes three of the five seconds that a client has. */
const MOST = 160;
/** In MiB. More than the system's buffers hold on both sides. */
const BUFFERED = 64;

const { port } = await startTestService(t, 'postgres');

/** Announces a body that is refused because of its length, and waits for the response. */
async function refused(length: number): Promise<{ socket: Socket; answer: string }> {
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
  socket.on('error', () => {});
  socket.write(
    `POST /api/v1/auth/login HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: ${length}\r\n\r\n`,
  );
  const [answer] = await once(socket, 'data');
  socket.resume();
  return { socket, answer: String(answer) };
}

t.test('the rest of a refused body is read at no more than 50 MiB/s', async (t) => {
  const { answer, socket } = await refused(MOST * MIB);
  t.match(answer, /^HTTP\/1\.1 413 [\s\S]*payloadTooLarge/);
  const startedAt = performance.now();
  const piece = Buffer.alloc(MIB);
  let sent = 0;
  while (sent < MOST && !socket.destroyed) {
    sent += 1;
    await new Promise((accepted) => socket.write(piece, accepted));
  }
  socket.destroy();
  const seconds = (performance.now() - startedAt) / 1000;
  t.ok(seconds > (sent - BUFFERED) / 50, `${sent} MiB in ${seconds} s`);
});

t.test('if more than 100 refused clients keep sending, the oldest connections are closed', async (t) => {
  const startedAt = performance.now();
  const open: Socket[] = [];
  // A write to a connection that the service has closed fails.
  const sending = setInterval(() => {
    for (const socket of open) if (!socket.destroyed) socket.write(Buffer.alloc(100));
  }, 50);
  t.teardown(() => clearInterval(sending));
  for (let number = 0; number < 110; number += 1) {
    const { answer, socket } = await refused(MIB);
    t.match(answer, /^HTTP\/1\.1 413 /);
    open.push(socket);
  }
  const closed = open.slice(0, 10).map(async (socket) => {
    if (!socket.destroyed) await new Promise((resolve) => socket.once('close', resolve));
  });
  await Promise.all(closed);
  const seconds = (performance.now() - startedAt) / 1000;
  t.ok(seconds < 5, `closed before their five seconds were up: ${seconds} s`);
  t.notOk(open[60]?.destroyed, 'the others stay open');
  for (const socket of open) socket.destroy();
});
