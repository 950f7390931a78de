/** Drops the rest of bodies that got a response before they arrived completely. Contract section 6. */
import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { DROPPED_PER_SLICE, Pace } from './pace.ts';

/** How long a client may take to send the rest. */
const DROPPING_MS = 5000;
/** Beyond this many connections, the oldest is closed, because each holds data in memory. */
const MAX_DROPPING = 100;

/** Clears the timer on close, because it would keep the connection or the request in memory. */
function destroyUnlessClosed(socket: Socket, request?: IncomingMessage): void {
  const timer = setTimeout(() => socket.destroy(), DROPPING_MS).unref();
  const forget = () => {
    clearTimeout(timer);
    socket.off('close', forget);
    request?.off('close', forget);
  };
  socket.once('close', forget);
  request?.once('close', forget);
}

/**
 * Drops the rest of bodies, and keeps their connections open until the clients can read the response. If data stays
 * unread, a client's operating system discards the response. Node would drop data as fast as it arrives, and would
 * close the connection while the client sends.
 */
export class UnreadBodies {
  readonly #pace = new Pace(DROPPED_PER_SLICE);
  readonly #connections = new Set<Socket>();

  /** Call this before the response is sent. */
  drop(request: IncomingMessage): void {
    const { socket } = request;
    // Node itself drops a body that nothing has begun to read.
    request.read();
    request.on('data', (piece: Buffer) => this.#pace.count(request, piece.length));
    request.once('close', () => this.#pace.forget(request));
    request.resume();
    this.#pace.count(request, 0);
    socket.destroySoon = () => {
      socket.end();
      this.#connections.add(socket);
      socket.once('close', () => this.#connections.delete(socket));
      destroyUnlessClosed(socket);
      const [oldest] = this.#connections;
      if (this.#connections.size > MAX_DROPPING) oldest?.destroy();
    };
  }

  /** Call this after the response. */
  endSoon(request: IncomingMessage): void {
    destroyUnlessClosed(request.socket, request);
  }
}
