/** Requests for which a test controls every byte, and when to send it. */
import { connect, type Socket } from 'node:net';

export type RawRequest = {
  socket: Socket;
  /** Resolves with everything received, once the first response is complete or the connection is closed. */
  answer: Promise<string>;
  /** Sends more bytes. Resolves when the operating system has accepted them. */
  send(bytes: string | Buffer): Promise<void>;
};

const isWhole = (received: string): boolean => {
  const head = received.search(/\r\n\r\n/);
  if (head < 0 || /^HTTP\/1\.1 1/.test(received)) return false;
  const [, length] = /\r\ncontent-length: (\d+)/i.exec(received.slice(0, head)) ?? [];
  return length !== undefined && Buffer.byteLength(received) >= head + 4 + Number(length);
};

/**
 * Opens a connection, and sends the head of a request.
 *
 * @param target - the method and path, such as `POST /api/v1/chat`
 * @param headers - headers in addition to `Host` and `Content-Type`, which is JSON
 */
export function startRequest(port: number, target: string, headers: Record<string, string>): RawRequest {
  const lines = Object.entries({ Host: 'x', 'Content-Type': 'application/json', ...headers });
  const head = `${target} HTTP/1.1\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n`;
  const socket = connect(port, '127.0.0.1');
  socket.write(head);
  const answer = new Promise<string>((resolve) => {
    let received = '';
    socket.setEncoding('utf8').on('data', (text: string) => {
      received += text;
      if (isWhole(received)) resolve(received);
    });
    socket.on('error', () => {});
    socket.on('close', () => resolve(received));
  });
  return {
    socket,
    answer,
    send: (bytes) => new Promise((resolve) => socket.write(bytes, () => resolve())),
  };
}

/** The status of a raw response. */
export const statusOf = (answer: string): number => Number(/^HTTP\/1\.1 (\d{3})/.exec(answer)?.[1]);
/** The error code of a raw response; undefined if there is none. */
export const codeOf = (answer: string): string | undefined => /"code":"(\w+)"/.exec(answer)?.[1];
