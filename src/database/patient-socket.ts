/**
 * Connections to the database that end when nobody answers. TCP alone notices a peer that is gone after a quarter of an
 * hour: until then every statement would wait, and no pool would make a new connection. Reliability test 33.
 */
import { connect, type Socket } from 'node:net';

const CHECK_MS = 500;

/** Destroys a socket on which nothing passed for `patienceMs`. (The counters, because TLS goes past the events.) */
function watch(socket: Socket, patienceMs: number): void {
  let passed = 0;
  let silentSince = performance.now();
  const timer = setInterval(() => {
    const now = performance.now();
    if (socket.bytesRead + socket.bytesWritten !== passed) {
      passed = socket.bytesRead + socket.bytesWritten;
      silentSince = now;
    } else if (now - silentSince > patienceMs) {
      const error = new Error(`No answer from the database within ${patienceMs} ms.`);
      socket.destroy(Object.assign(error, { code: 'ETIMEDOUT' }));
    }
  }, CHECK_MS).unref();
  socket.once('close', () => clearInterval(timer));
}

/** What the driver knows of where the database is. */
type Target = { host: string[]; port: number[]; path?: string | false };

/**
 * Makes sockets for the driver, each to the next of its hosts. The driver must end idle connections sooner.
 *
 * @param patienceMs - how long an answer may take; what takes longer on purpose does not belong on such a connection
 */
export function patientSockets(patienceMs: number): (target: Target) => Socket {
  let turn = 0;
  return ({ host, path, port }) => {
    const index = turn++ % host.length;
    const socket = path
      ? connect(path)
      : connect({ host: host[index] ?? 'localhost', port: port[index] ?? 5432 });
    watch(socket, patienceMs);
    return Object.assign(socket, { host: host[index], port: port[index] });
  };
}
