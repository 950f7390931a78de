/**
 * Clients that stop reading are disconnected: a connection that takes nothing of what waits for it for 60 s is closed,
 * whatever it is that waits, a stream, its last event or a whole answer. Contract section 7.
 */
import type { Socket } from 'node:net';
import fp from 'fastify-plugin';

/** How often connections are looked at until one is closed. */
const BEATS = 30;

/** What has been handed to the system for a connection, and what of it the system has not taken. */
type Handle = { bytesWritten?: number; writeQueueSize?: number };
type Progress = { written: number; queued: number; quietBeats: number };

/**
 * Node's own count of a socket tells no progress within one large write. Its handle's does: the socket's timeout reads
 * the same two numbers.
 */
function handleOf(socket: Socket): Required<Handle> {
  const { _handle: handle } = socket as unknown as { _handle?: Handle | null };
  return { bytesWritten: handle?.bytesWritten ?? 0, writeQueueSize: handle?.writeQueueSize ?? 0 };
}

/** The connections of one server. */
export class UnreadAnswers {
  readonly #connections = new Map<Socket, Progress>();
  readonly #onUnread: (socket: Socket) => void;

  /** @param onUnread - called before a connection is closed */
  constructor(onUnread: (socket: Socket) => void = () => {}) {
    this.#onUnread = onUnread;
  }

  /** Looks at a connection from now on, until it closes. */
  watch(socket: Socket): void {
    this.#connections.set(socket, { written: 0, queued: 0, quietBeats: 0 });
    socket.once('close', () => this.#connections.delete(socket));
  }

  /** A moment has passed; closes the connections that took nothing for so many moments. */
  beat(most: number): void {
    for (const [socket, progress] of this.#connections) {
      const { bytesWritten, writeQueueSize } = handleOf(socket);
      const isUnread =
        writeQueueSize > 0 && writeQueueSize === progress.queued && bytesWritten === progress.written;
      progress.quietBeats = isUnread ? progress.quietBeats + 1 : 0;
      progress.queued = writeQueueSize;
      progress.written = bytesWritten;
      if (progress.quietBeats < most) continue;
      this.#onUnread(socket);
      socket.destroy();
    }
  }
}

export default fp(
  async (app) => {
    const unread = new UnreadAnswers(({ remoteAddress }) =>
      app.log.info({ address: remoteAddress }, 'client stopped reading'),
    );
    app.server.on('connection', (socket: Socket) => unread.watch(socket));
    const timer = setInterval(() => unread.beat(BEATS), app.config.unreadMs / BEATS).unref();
    app.addHook('onClose', async () => clearInterval(timer));
  },
  { name: 'unread-answers', dependencies: ['services'] },
);
