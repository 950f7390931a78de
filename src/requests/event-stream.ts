/**
 * Server-sent events: one writer for all streams. Contract section 7.
 *
 * There may be a thousand of them at twenty events a second, so that an event costs one write and a stream no timer
 * of its own.
 */
import type { FastifyReply } from 'fastify';
import type { Work } from './in-flight.ts';

/** A stream that is silent for so long gets a comment, which keeps proxies from closing its connection. */
const KEEP_ALIVE_MS = 15_000;
/** So often all streams are looked at; the comment comes at most this late. */
const BEAT_MS = 1000;
const COMMENT = ': keep-alive\n\n';

/** The streams of one process. */
export class EventStreams {
  readonly #keepAliveBeats: number;
  readonly #mostBeats: number;
  readonly #beatMs: number;
  readonly #open = new Set<EventStream>();
  #timer: NodeJS.Timeout | undefined;

  /** @param mostMs - after so long a stream is cut off, however slowly its client reads what is left of it */
  constructor(mostMs: number, keepAliveMs = KEEP_ALIVE_MS, beatMs = BEAT_MS) {
    this.#mostBeats = Math.ceil(mostMs / beatMs);
    this.#beatMs = beatMs;
    this.#keepAliveBeats = Math.ceil(keepAliveMs / beatMs);
  }

  /**
   * Begins the answer: its head goes out with the first event. Everything that hooks have put into the reply's headers
   * is in it.
   */
  open(reply: FastifyReply, work: Work): EventStream {
    const stream = new EventStream(reply, work);
    this.#open.add(stream);
    reply.raw.once('close', () => this.#open.delete(stream));
    this.#timer ??= setInterval(() => this.#beat(), this.#beatMs).unref();
    return stream;
  }

  #beat(): void {
    for (const stream of this.#open) stream.beat(this.#keepAliveBeats, this.#mostBeats);
    if (this.#open.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }
}

/** The writer of one stream. */
export class EventStream {
  readonly #raw: FastifyReply['raw'];
  readonly #signal: AbortSignal;
  #silentBeats = 0;
  #beats = 0;

  constructor(reply: FastifyReply, { signal }: Work) {
    this.#raw = reply.raw;
    this.#signal = signal;
    reply.headers({
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-store',
      'x-accel-buffering': 'no',
    });
    reply.hijack();
    // A write that meets a lost connection is not worth an exception: `close` tells of the same.
    this.#raw.on('error', () => {});
    this.#raw.writeHead(200, reply.getHeaders() as Record<string, string>);
  }

  /**
   * Writes events.
   *
   * @returns where the client does not keep up, a promise to wait for before more is made: it resolves when the
   *   client has caught up, or the work is given up
   */
  write(text: string): Promise<void> | undefined {
    this.#silentBeats = 0;
    if (this.#raw.destroyed || this.#raw.write(text)) return undefined;
    return this.#caughtUp();
  }

  /** Writes the last events. */
  end(text: string): void {
    if (!this.#raw.destroyed) this.#raw.end(text);
  }

  /** A moment has passed; a comment is written when so many have passed in silence, and after the most it ends. */
  beat(keepAliveBeats: number, mostBeats: number): void {
    this.#beats += 1;
    if (this.#beats > mostBeats) return void this.#raw.destroy();
    this.#silentBeats += 1;
    if (this.#silentBeats < keepAliveBeats) return;
    this.#silentBeats = 0;
    const { destroyed, writableEnded, writableNeedDrain } = this.#raw;
    // A client that does not read has enough to read.
    if (!destroyed && !writableEnded && !writableNeedDrain) this.#raw.write(COMMENT);
  }

  #caughtUp(): Promise<void> {
    if (this.#signal.aborted) return Promise.resolve();
    return new Promise((resolve) => {
      const onChange = () => {
        this.#raw.off('drain', onChange);
        this.#raw.off('close', onChange);
        this.#signal.removeEventListener('abort', onChange);
        resolve();
      };
      this.#raw.on('drain', onChange);
      this.#raw.on('close', onChange);
      this.#signal.addEventListener('abort', onChange);
    });
  }
}
