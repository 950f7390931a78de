import type { Socket } from 'node:net';

/**
 * Resets a connection, so that its peer reads ECONNRESET.
 *
 * One that is being shut down, because its peer has hung up, is only closed: Node cannot reset it (`EINVAL`), never closes it
 * then, and the process spins for ever when it is to end.
 */
export function reset(socket: Socket): void {
  if (socket.writableEnded) socket.destroy();
  else socket.resetAndDestroy();
}
