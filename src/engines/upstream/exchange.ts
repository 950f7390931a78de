/** One request to an upstream through undici: timeouts, backpressure, and abort. Contract sections 7 and 8. */
import type { IncomingHttpHeaders } from 'node:http';
import type { Dispatcher } from 'undici';
import { type Progress, progressOf } from '../progress.ts';

export type ExchangeTimeouts = {
  /** From sending the request to the first byte of the body. */
  firstByteMs: number;
  /** Between bytes of the body, while Parley is reading. */
  idleMs: number;
};

export type AnswerHead = { status: number; headers: IncomingHttpHeaders };

/**
 * Bytes to buffer for a slow reader. Beyond this size, Parley stops reading the socket. Each pause makes undici copy
 * the data that its socket has read, up to 64 KiB.
 */
const HIGH_WATER_BYTES = 48 * 1024;
/** How long an unread rest may take to arrive before Parley closes the connection instead of reusing it. */
const RELEASE_MS = 1000;

export class SilenceError extends Error {
  constructor(what: string, ms: number) {
    super(`No ${what} within ${ms} ms.`);
    this.name = 'SilenceError';
  }
}

type Waiting = { resolve: (pieces: Buffer[] | null) => void; reject: (error: unknown) => void };

/**
 * undici's handler for one request. Its timer replaces undici's two timers, which are accurate only to half a second.
 * The timeout to the first byte also covers servers that send headers before they read a long prompt.
 */
export class Exchange implements Dispatcher.DispatchHandler {
  /** Whether bytes may have reached the upstream. If so, do not send the request again. */
  isSent = false;
  /** Settles once. Await it before reading the body. */
  readonly head: Promise<AnswerHead>;

  readonly #timeouts: ExchangeTimeouts;
  readonly #signal: AbortSignal;
  readonly #progress: Progress | undefined;
  readonly #onAbort = () => this.abort(this.#signal.reason);
  readonly #onSettled: () => void;
  #resolveHead!: (head: AnswerHead) => void;
  #rejectHead!: (error: unknown) => void;
  #controller: Dispatcher.DispatchController | undefined;
  #pieces: Buffer[] = [];
  #held = 0;
  #waiting: Waiting | undefined;
  #timer: NodeJS.Timeout | undefined;
  #received = 0;
  #isDiscarding = false;
  #outcome: { error?: unknown } | undefined;

  /** @param onSettled - called once, when the exchange has ended for any reason */
  constructor(timeouts: ExchangeTimeouts, signal: AbortSignal, onSettled: () => void = () => {}) {
    this.#timeouts = timeouts;
    this.#signal = signal;
    this.#progress = progressOf(signal);
    this.#onSettled = onSettled;
    this.head = new Promise((resolve, reject) => {
      this.#resolveHead = resolve;
      this.#rejectHead = reject;
    });
    signal.addEventListener('abort', this.#onAbort, { once: true });
  }

  /** Returns all buffered pieces of the body, or waits for the next; null at the end. Do not call it concurrently. */
  read(): Promise<Buffer[] | null> {
    if (this.#pieces.length === 0) this.#resume();
    if (this.#pieces.length > 0) {
      const pieces = this.#pieces;
      this.#pieces = [];
      this.#held = 0;
      return Promise.resolve(pieces);
    }
    if (this.#outcome === undefined) {
      return new Promise((resolve, reject) => {
        this.#waiting = { resolve, reject };
      });
    }
    return 'error' in this.#outcome ? Promise.reject(this.#outcome.error) : Promise.resolve(null);
  }

  /** Destroys the socket and drops unread data. */
  abort(reason: unknown): void {
    if (this.#outcome !== undefined) return;
    this.#pieces = [];
    this.#finish({ error: reason });
    this.#controller?.abort(reason as Error);
  }

  /** Stops reading. Keeps the connection if the response is about to end. */
  release(): void {
    if (this.#outcome !== undefined) return;
    this.#isDiscarding = true;
    this.#pieces = [];
    this.#startTimer(RELEASE_MS, 'end of the response');
    this.#resume();
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    if (this.#outcome !== undefined) {
      // undici sends nothing if aborted here.
      controller.abort(new Error('Canceled while connecting.'));
      return;
    }
    this.isSent = true;
    this.#noteSent();
    this.#startTimer(this.#timeouts.firstByteMs, 'first byte');
  }

  onResponseStart(
    _controller: Dispatcher.DispatchController,
    status: number,
    headers: IncomingHttpHeaders,
  ): void {
    this.#noteHeard();
    if (status >= 200) this.#resolveHead({ status, headers });
  }

  onResponseData(controller: Dispatcher.DispatchController, piece: Buffer): void {
    if (this.#isDiscarding) return;
    this.#noteHeard();
    this.#received += 1;
    if (this.#received === 1) this.#startTimer(this.#timeouts.idleMs, 'further byte');
    else this.#timer?.refresh();
    if (this.#waiting !== undefined) {
      const { resolve } = this.#waiting;
      this.#waiting = undefined;
      resolve([piece]);
      return;
    }
    this.#pieces.push(piece);
    this.#held += piece.length;
    if (this.#held >= HIGH_WATER_BYTES) controller.pause();
  }

  onResponseEnd(): void {
    this.#finish({});
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.#finish({ error });
  }

  #noteSent(): void {
    if (this.#progress === undefined) return;
    this.#progress.isCalled = true;
    this.#progress.sent += 1;
  }

  #noteHeard(): void {
    if (this.#progress) this.#progress.received += 1;
  }

  #resume(): void {
    if (this.#outcome !== undefined || this.#controller?.paused !== true) return;
    this.#timer?.refresh();
    this.#controller.resume();
  }

  #startTimer(ms: number, what: string): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      const received = this.#received;
      // Timers run before sockets. If the event loop was blocked, received bytes may still be unread.
      setImmediate(() => {
        if (received === this.#received) this.#expire(new SilenceError(what, ms));
      });
    }, ms);
  }

  #expire(error: SilenceError): void {
    // The reader is slow. Its next `read` restarts the timer.
    if (this.#outcome !== undefined || this.#controller?.paused === true) return;
    this.#finish({ error });
    this.#controller?.abort(error);
  }

  #finish(outcome: { error?: unknown }): void {
    if (this.#outcome !== undefined) return;
    this.#outcome = outcome;
    clearTimeout(this.#timer);
    this.#signal.removeEventListener('abort', this.#onAbort);
    this.#onSettled();
    const waiting = this.#waiting;
    this.#waiting = undefined;
    if ('error' in outcome) {
      this.#rejectHead(outcome.error);
      waiting?.reject(outcome.error);
    } else {
      waiting?.resolve(null);
    }
  }
}
