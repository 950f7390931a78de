/**
 * The load of `bench/quota.ts`, in a separate process. Each connection sends its next request once the previous response is
 * complete. It uses plain sockets, because every other client takes more CPU from the server.
 */
import { connect } from 'node:net';

export type Load = {
  port: number;
  path: string;
  connections: number;
  accounts: number;
  warmUpMs: number;
  measureMs: number;
};
export type LoadResult = { perSecond: number; p50: number; p99: number; failed: number };

const body = JSON.stringify({ message: 'How do I create a key, and how do I send it?', store: false });
const request = ({ path }: Load, account: number) =>
  Buffer.from(
    `POST ${path} HTTP/1.1\r\nHost: bench\r\nContent-Type: application/json\r\nX-Account: ${account}\r\n` +
      `Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
  );

/** Expects one response at a time, with a Content-Length. */
function answerLength(head: string): number {
  const [, length] = /\r\ncontent-length: (\d+)\r\n/i.exec(head) ?? [];
  return head.indexOf('\r\n\r\n') + 4 + Number(length);
}

function run(load: Load): Promise<LoadResult> {
  const latencies: number[] = [];
  let failed = 0;
  const from = performance.now() + load.warmUpMs;
  const end = from + load.measureMs;
  const requests = Array.from({ length: load.accounts }, (_, account) => request(load, account));

  const worker = (index: number) =>
    new Promise<void>((resolve) => {
      const socket = connect(load.port, '127.0.0.1');
      socket.setNoDelay(true);
      let received = '';
      let sentAt = 0;
      let turn = index;
      const send = () => {
        turn = (turn + 127) % load.accounts;
        sentAt = performance.now();
        socket.write(requests[turn] as Buffer);
      };
      socket.setEncoding('latin1');
      socket.on('connect', send);
      socket.on('error', () => {
        failed += 1;
        resolve();
      });
      socket.on('data', (chunk: string) => {
        received += chunk;
        if (!received.includes('\r\n\r\n') || received.length < answerLength(received)) return;
        const isServed = received.startsWith('HTTP/1.1 200');
        received = '';
        const now = performance.now();
        if (now > from && now <= end) {
          latencies.push(now - sentAt);
          if (!isServed) failed += 1;
        }
        if (now < end) return send();
        socket.destroy();
        resolve();
      });
    });

  return Promise.all(Array.from({ length: load.connections }, (_, index) => worker(index))).then(() => {
    latencies.sort((one, other) => one - other);
    const at = (share: number) => latencies[Math.floor(latencies.length * share)] ?? 0;
    return { perSecond: latencies.length / (load.measureMs / 1000), p50: at(0.5), p99: at(0.99), failed };
  });
}

process.on('message', async (load: Load) => {
  process.send?.(await run(load));
});
process.on('disconnect', () => process.exit());
