/**
 * Server-sent events. At a thousand streams with twenty events per second, each event may cost only one write. All
 * streams share one timer. Contract section 7.
 */
import type { FastifyReply } from 'fastify';
import type { Work } from './in-flight.ts';

/** How long a stream may be silent before it gets a comment, which keeps proxies from closing the connection. */
const KEEP_ALIVE_MS = 15_000;
/** The interval of the shared timer, by which a comment may be late. */
const BEAT_MS = 1000;
const COMMENT = ': keep-alive\n\n';

export class EventStreams {
  readonly #keepAliveBeats: number;
  readonly #maxBeats: number;
  readonly #beatMs: number;
  readonly #open = new Set<EventStream>();
  #timer: NodeJS.Timeout | undefined;

  /** @param maxMs - the longest duration of a stream, even if its client reads slowly */
  constructor(maxMs: number, keepAliveMs = KEEP_ALIVE_MS, beatMs = BEAT_MS) {
    this.#maxBeats = Math.ceil(maxMs / beatMs);
    this.#beatMs = beatMs;
    this.#keepAliveBeats = Math.ceil(keepAliveMs / beatMs);
  }

  /** Begins the response with all headers that hooks have set. They are sent with the first event. */
  open(reply: FastifyReply, work: Work): EventStream {
    const stream = new EventStream(reply, work);
    this.#open.add(stream);
    reply.raw.once('close', () => this.#open.delete(stream));
    this.#timer ??= setInterval(() => this.#beat(), this.#beatMs).unref();
    return stream;
  }

  get size(): number {
    return this.#open.size;
  }

  #beat(): void {
    for (const stream of this.#open) stream.beat(this.#keepAliveBeats, this.#maxBeats);
    if (this.#open.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }
}

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
    // Ignore failed writes: the `close` event reports a lost connection.
    this.#raw.on('error', () => {});
    this.#raw.writeHead(200, reply.getHeaders() as Record<string, string>);
  }

  /** Returns a promise to await before the next write if the client is reading too slowly. */
  write(text: string): Promise<void> | undefined {
    this.#silentBeats = 0;
    if (this.#raw.destroyed || this.#raw.write(text)) return undefined;
    return this.#caughtUp();
  }

  end(text: string): void {
    if (!this.#raw.destroyed) this.#raw.end(text);
  }

  /** Writes a comment after `keepAliveBeats` silent beats, and disconnects after `maxBeats`. */
  beat(keepAliveBeats: number, maxBeats: number): void {
    this.#beats += 1;
    if (this.#beats > maxBeats) return void this.#raw.destroy();
    this.#silentBeats += 1;
    if (this.#silentBeats < keepAliveBeats) return;
    this.#silentBeats = 0;
    const { destroyed, writableEnded, writableNeedDrain } = this.#raw;
    // A client that is not reading needs no comment.
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
