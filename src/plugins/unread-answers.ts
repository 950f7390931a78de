/** Disconnects clients that stop reading, after 60 s without progress of pending output. Contract section 7. */
import type { Socket } from 'node:net';
import fp from 'fastify-plugin';

const TICKS = 30;

/** Bytes passed to the operating system, and bytes that it has not accepted yet. */
type Handle = { bytesWritten?: number; writeQueueSize?: number };
type Progress = { written: number; queued: number; quietBeats: number };

/** Within one large write, only the handle shows progress, not `socket.bytesWritten`. Node's timeout reads it too. */
function handleOf(socket: Socket): Required<Handle> {
  const { _handle: handle } = socket as unknown as { _handle?: Handle | null };
  return { bytesWritten: handle?.bytesWritten ?? 0, writeQueueSize: handle?.writeQueueSize ?? 0 };
}

export class UnreadAnswers {
  readonly #connections = new Map<Socket, Progress>();
  readonly #onUnread: (socket: Socket) => void;

  constructor(onUnread: (socket: Socket) => void = () => {}) {
    this.#onUnread = onUnread;
  }

  watch(socket: Socket): void {
    this.#connections.set(socket, { written: 0, queued: 0, quietBeats: 0 });
    socket.once('close', () => this.#connections.delete(socket));
  }

  /** Checks all connections. Closes those that made no progress in `most` checks in a row. */
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
      app.log.info({ address: remoteAddress }, 'Closed a connection whose client stopped reading.'),
    );
    app.server.on('connection', (socket: Socket) => unread.watch(socket));
    const timer = setInterval(() => unread.beat(TICKS), app.config.unreadMs / TICKS).unref();
    app.addHook('onClose', async () => clearInterval(timer));
  },
  { name: 'unread-answers', dependencies: ['services'] },
);
