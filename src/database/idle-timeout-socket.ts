/** Closes connections to a silent database. TCP alone takes a quarter of an hour to notice. Reliability test 33. */
import { connect, type Socket } from 'node:net';

const CHECK_MS = 500;

/** Watches byte counters, because TLS bypasses the socket's events. */
function watch(socket: Socket, timeoutMs: number): void {
  let passed = 0;
  let silentSince = performance.now();
  const timer = setInterval(() => {
    const now = performance.now();
    if (socket.bytesRead + socket.bytesWritten !== passed) {
      passed = socket.bytesRead + socket.bytesWritten;
      silentSince = now;
    } else if (now - silentSince > timeoutMs) {
      const error = new Error(`No response from the database within ${timeoutMs} ms.`);
      socket.destroy(Object.assign(error, { code: 'ETIMEDOUT' }));
    }
  }, CHECK_MS).unref();
  socket.once('close', () => clearInterval(timer));
}

type Target = { host: string[]; port: number[]; path?: string | false };

/** Each new socket connects to the next host. The driver must close idle connections before `timeoutMs` elapses. */
export function idleTimeoutSockets(timeoutMs: number): (target: Target) => Socket {
  let turn = 0;
  return ({ host, path, port }) => {
    const index = turn++ % host.length;
    const socket = path
      ? connect(path)
      : connect({ host: host[index] ?? 'localhost', port: port[index] ?? 5432 });
    watch(socket, timeoutMs);
    return Object.assign(socket, { host: host[index], port: port[index] });
  };
}
