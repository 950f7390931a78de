import type { Socket } from 'node:net';

/**
 * Resets a connection, so that its peer reads ECONNRESET.
 *
 * A connection that is already shutting down, because its peer has disconnected, is only closed. Node.js cannot reset
 * it (`EINVAL`), and would then never close it, and the process would spin forever instead of exiting.
 */
export function reset(socket: Socket): void {
  if (socket.writableEnded) socket.destroy();
  else socket.resetAndDestroy();
}
